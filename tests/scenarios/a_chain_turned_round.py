"""A - B - C becomes C - B - A, in place: each lets go of one and takes hold of the other."""

before = Template({
    "A": RsrcDef({"a": "end"}, []),
    "B": RsrcDef({"a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("B")}, []),
})
after = Template({
    "C": RsrcDef({"a": "end"}, []),
    "B": RsrcDef({"a": GetRes("C")}, []),
    "A": RsrcDef({"a": GetRes("B")}, []),
})

engine.create_stack("turn", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("turn", after)
engine.noop(6)
engine.call(verify, after)
engine.delete_stack("turn")
engine.noop(4)
engine.call(verify, Template())
