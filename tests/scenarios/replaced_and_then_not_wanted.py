"""While C is being replaced, an update drops it: neither the old one nor the new one stays."""

before = Template({"B": RsrcDef({"a": "x"}, []), "C": RsrcDef({"!a": "old"}, ["B"]), "D": RsrcDef({"c": GetRes("C")}, [])})
middle = Template({**before.resources, "C": RsrcDef({"!a": "new"}, ["B"])})
after = Template({"B": RsrcDef({"a": "x"}, []), "D": RsrcDef({"c": GetRes("B")}, [])})

engine.create_stack("whim", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("whim", middle)
engine.noop(2)
engine.update_stack("whim", after)
engine.noop(8)
engine.call(verify, after)
engine.delete_stack("whim")
engine.noop(4)
engine.call(verify, Template())
