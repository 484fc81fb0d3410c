"""Renamed in the template: one comes, its users move, the other goes."""

before = Template({"old": RsrcDef({"a": "x"}, []), "user": RsrcDef({"c": GetRes("old")}, [])})
after = Template({"new": RsrcDef({"a": "x"}, []), "user": RsrcDef({"c": GetRes("new")}, [])})

engine.create_stack("name", before)
engine.noop(2)
engine.call(verify, before)
engine.update_stack("name", after)
engine.noop(4)
engine.call(verify, after)
engine.update_stack("name", before)
engine.noop(1)
engine.update_stack("name", after)
engine.noop(6)
engine.call(verify, after)
