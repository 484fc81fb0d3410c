"""Moved, with its user, and a new one under the old name: the rollback gives the name back to the object that had it."""

before = Template({"A": RsrcDef({"a": "x"}, []), "user": RsrcDef({"c": GetRes("A")}, [])})
after = Template({
    "A": RsrcDef({"a": "new"}, []),
    "B": RsrcDef({"a": "x"}, []),
    "user": RsrcDef({"c": GetRes("B")}, []),
    "last": RsrcDef({"a": "last"}, ["user", "A"]),
})
moved = Template({"B": RsrcDef({"a": "x"}, []), "user": RsrcDef({"c": GetRes("B")}, [])})

objects = {}


def remember():
    objects.update({one.name: one.uuid for one in reality.all_resources()})


def all_are_the_same(names):
    test.assertEqual({names.get(name, name): id_ for name, id_ in objects.items()},
                     {one.name: one.uuid for one in reality.all_resources()})


engine.create_stack("move", before)
engine.noop(3)
engine.call(verify, before)
engine.call(remember)
engine.update_stack("move", after, {"A": "B"})
engine.noop(2)
engine.rollback_stack("move")
engine.noop(6)
engine.call(verify, before)
engine.call(all_are_the_same, {})
engine.update_stack("move", moved, {"A": "B"})
engine.noop(4)
engine.call(verify, moved)
engine.call(all_are_the_same, {"A": "B"})
