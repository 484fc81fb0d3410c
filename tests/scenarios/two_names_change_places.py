"""Each takes the other's properties: both are still themselves, with another content."""

before = Template({"A": RsrcDef({"a": "one"}, []), "B": RsrcDef({"a": "two"}, []), "C": RsrcDef({"c": GetRes("A")}, [])})
after = Template({"A": RsrcDef({"a": "two"}, []), "B": RsrcDef({"a": "one"}, []), "C": RsrcDef({"c": GetRes("B")}, [])})

engine.create_stack("swap", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("swap", after)
engine.noop(4)
engine.call(verify, after)
