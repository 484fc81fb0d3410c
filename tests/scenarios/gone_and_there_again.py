"""Deleted, and created again under the same name: a new stack, with new objects."""

plan = Template({"A": RsrcDef({"a": "x"}, []), "B": RsrcDef({"a": GetRes("A")}, [])})
first = []


def remember():
    first.extend(reality.all_resources())


def nothing_of_the_old():
    test.assertFalse(set(first) & set(reality.all_resources()))


engine.create_stack("phoenix", plan)
engine.noop(2)
engine.call(verify, plan)
engine.call(remember)
engine.delete_stack("phoenix")
engine.noop(3)
engine.call(verify, Template())
engine.create_stack("phoenix", plan)
engine.noop(2)
engine.call(verify, plan)
engine.call(nothing_of_the_old)
