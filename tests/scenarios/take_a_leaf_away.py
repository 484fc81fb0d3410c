"""The last of a chain is dropped; the rest does not notice."""

before = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("B")}, []),
})
after = Template({name: before.resources[name] for name in ("A", "B")})

engine.create_stack("leaf", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("leaf", after)
engine.noop(5)
engine.call(verify, after)
