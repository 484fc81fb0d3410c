"""Two deletes, one on top of the other: gone is gone."""

plan = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("B")}, []),
})

engine.create_stack("twice", plan)
engine.noop(3)
engine.call(verify, plan)
engine.delete_stack("twice")
engine.delete_stack("twice")
engine.noop(4)
engine.call(verify, Template())
