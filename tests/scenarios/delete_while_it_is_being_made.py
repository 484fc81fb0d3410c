"""The delete comes when two of four are there: these two go, and the others never come."""

plan = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"a": GetRes("A")}, []),
    "C": RsrcDef({"a": GetRes("B")}, []),
    "D": RsrcDef({"a": GetRes("C")}, []),
})


def at_most(count):
    test.assertLessEqual(len(reality.all_resources()), count)


engine.create_stack("brief", plan)
engine.noop(1)
engine.delete_stack("brief")
engine.call(at_most, 2)
engine.noop(6)
engine.call(verify, Template())
