"""Resources that have nothing to do with each other, and some without any property at all."""

islands = Template({name: RsrcDef({}, []) for name in "ABCDEFG"})
fewer = Template({name: RsrcDef({"a": "lit"} if name in "AB" else {}, []) for name in "ABCD"})

engine.create_stack("sea", islands)
engine.noop(7)
engine.call(verify, islands)
engine.update_stack("sea", fewer)
engine.noop(7)
engine.call(verify, fewer)
