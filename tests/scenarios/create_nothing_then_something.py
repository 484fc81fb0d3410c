"""An empty stack is a stack: it can be filled, and emptied again."""

one = Template({"A": RsrcDef({"a": "1"}, []), "B": RsrcDef({"b": GetAtt("A", "a")}, [])})

engine.create_stack("void", Template({}))
engine.noop(1)
engine.call(verify, Template({}))
engine.update_stack("void", one)
engine.noop(2)
engine.call(verify, one)
engine.update_stack("void", Template({}))
engine.noop(4)
engine.call(verify, Template({}))
