"""Two stacks grow at the same time; one goes, the other does not notice."""

left = Template({"L1": RsrcDef({"a": "l"}, []), "L2": RsrcDef({"a": GetRes("L1")}, [])})
right = Template({"R1": RsrcDef({"a": "r"}, []), "R2": RsrcDef({"!a": GetRes("R1")}, [])})
both = Template({**left.resources, **right.resources})

engine.create_stack("left", left)
engine.create_stack("right", right)
engine.noop(4)
engine.call(verify, both)
engine.delete_stack("left")
engine.noop(3)
engine.call(verify, right)
