"""The same template again, three times: not one object is touched."""

plan = Template({
    "A": RsrcDef({"!a": "x"}, []),
    "B": RsrcDef({"b": GetAtt("A", "!a")}, []),
    "C": RsrcDef({"c": GetRes("B")}, ["A"]),
})
known = []


def remember():
    known.append({one.uuid for one in reality.all_resources()})


def all_alike():
    test.assertEqual(1, len(set(map(frozenset, known))))


engine.create_stack("calm", plan)
engine.noop(3)
engine.call(verify, plan)
engine.call(remember)
for _ in range(3):
    engine.update_stack("calm", plan)
    engine.call(verify, plan)
    engine.call(remember)
engine.call(all_alike)
