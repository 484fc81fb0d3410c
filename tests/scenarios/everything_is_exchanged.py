"""Not one name is left: all that is wanted comes, and all that was goes."""

before = Template({"A": RsrcDef({"a": "x"}, []), "B": RsrcDef({"a": GetRes("A")}, []), "C": RsrcDef({}, ["B"])})
after = Template({"D": RsrcDef({"a": "y"}, []), "E": RsrcDef({"a": GetRes("D")}, []), "F": RsrcDef({}, ["E"])})

engine.create_stack("tide", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("tide", after)
engine.noop(2)
engine.update_stack("tide", before)
engine.noop(2)
engine.update_stack("tide", after)
engine.noop(9)
engine.call(verify, after)
