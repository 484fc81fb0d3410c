"""The delete comes right behind the create."""

plan = Template({"A": RsrcDef({}, []), "B": RsrcDef({"a": GetRes("A")}, [])})

engine.create_stack("stillborn", plan)
engine.delete_stack("stillborn")
engine.noop(3)
engine.call(verify, Template())
