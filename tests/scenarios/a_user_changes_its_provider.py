"""D uses B instead of A; A stays, without users, until it is dropped too."""

before = Template({"A": RsrcDef({"!a": "1"}, []), "B": RsrcDef({"!a": "2"}, []), "D": RsrcDef({"c": GetRes("A")}, [])})
moved = Template({**before.resources, "D": RsrcDef({"c": GetRes("B")}, [])})
done = Template({"B": RsrcDef({"!a": "2"}, []), "D": RsrcDef({"c": GetRes("B")}, [])})

engine.create_stack("provider", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("provider", moved)
engine.noop(3)
engine.call(verify, moved)
engine.update_stack("provider", done)
engine.noop(3)
engine.call(verify, done)
