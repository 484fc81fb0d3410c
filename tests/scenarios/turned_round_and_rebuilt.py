"""The same with parts that cannot change: both directions exist for a while, and neither gets in the other's way."""

before = Template({
    "A": RsrcDef({"!a": "end"}, []),
    "B": RsrcDef({"!a": GetRes("A")}, []),
    "C": RsrcDef({"!a": GetRes("B")}, []),
})
after = Template({
    "C": RsrcDef({"!a": "end"}, []),
    "B": RsrcDef({"!a": GetRes("C")}, []),
    "A": RsrcDef({"!a": GetRes("B")}, []),
})

engine.create_stack("rebuild", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("rebuild", after)
engine.noop(4)
engine.update_stack("rebuild", before)
engine.noop(3)
engine.update_stack("rebuild", after)
engine.noop(14)
engine.call(verify, after)
