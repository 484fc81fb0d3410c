"""What everything stood on is dropped: first its users let go of it."""

before = Template({
    "ground": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"a": GetRes("ground")}, []),
    "C": RsrcDef({"a": GetRes("ground"), "b": GetRes("B")}, []),
})
after = Template({"B": RsrcDef({"a": "air"}, []), "C": RsrcDef({"b": GetRes("B")}, [])})

engine.create_stack("fall", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("fall", after)
engine.noop(6)
engine.call(verify, after)
