"""A - B - C becomes A - C: C moves over before B goes."""

before = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("B")}, []),
})
after = Template({"A": RsrcDef({"a": "x"}, []), "C": RsrcDef({"a": GetRes("A")}, [])})

engine.create_stack("bridge", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("bridge", after)
engine.noop(5)
engine.call(verify, after)
