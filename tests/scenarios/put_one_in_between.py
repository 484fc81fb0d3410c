"""A - C becomes A - B - C: C waits for what it will stand on."""

before = Template({"A": RsrcDef({"a": "x"}, []), "C": RsrcDef({"a": GetRes("A")}, [])})
after = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"!a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("B")}, []),
})

engine.create_stack("wedge", before)
engine.noop(2)
engine.call(verify, before)
engine.update_stack("wedge", after)
engine.noop(5)
engine.call(verify, after)
engine.update_stack("wedge", before)
engine.noop(5)
engine.call(verify, before)
