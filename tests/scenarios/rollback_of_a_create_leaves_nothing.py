"""There was nothing before: a rollback goes back to nothing."""

plan = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("A")}, []),
})

engine.create_stack("first", plan)
engine.noop(1)
engine.rollback_stack("first")
engine.noop(5)
engine.call(verify, Template())
