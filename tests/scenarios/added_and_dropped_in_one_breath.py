"""An update adds X; before it is made, another drops it; a third adds it again."""

plain = Template({"A": RsrcDef({"a": "x"}, []), "B": RsrcDef({"a": GetRes("A")}, [])})
more = Template({**plain.resources, "X": RsrcDef({"!a": GetRes("B")}, [])})

engine.create_stack("breath", plain)
engine.noop(2)
engine.call(verify, plain)
for template in (more, plain, more, plain, more):
    engine.update_stack("breath", template)
engine.noop(5)
engine.call(verify, more)
engine.update_stack("breath", plain)
engine.update_stack("breath", more)
engine.update_stack("breath", plain)
engine.noop(6)
engine.call(verify, plain)
