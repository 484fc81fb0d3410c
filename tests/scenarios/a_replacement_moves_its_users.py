"""C is replaced: its users go over to the new one before the old one goes."""

before = Template({
    "C": RsrcDef({"!a": "old"}, []),
    "D": RsrcDef({"c": GetRes("C")}, []),
    "E": RsrcDef({"ca": GetAtt("C", "!a")}, []),
})
after = Template({**before.resources, "C": RsrcDef({"!a": "new"}, [])})


def users_have_what_they_use():
    there = {one.uuid for one in reality.all_resources()}
    (user,) = reality.resources_by_logical_name("D")
    test.assertIn(user.properties["c"], there)


engine.create_stack("move", before)
engine.noop(3)
engine.call(verify, before)
engine.update_stack("move", after)
for _ in range(8):
    engine.call(users_have_what_they_use)
engine.call(verify, after)
