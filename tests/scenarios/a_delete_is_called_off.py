"""Half of it is gone when an update asks for all of it again: what is missing is made anew."""

plan = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("B")}, []),
})

engine.create_stack("reprieve", plan)
engine.noop(3)
engine.call(verify, plan)
engine.delete_stack("reprieve")
engine.noop(1)
engine.update_stack("reprieve", plan)
engine.noop(7)
engine.call(verify, plan)
