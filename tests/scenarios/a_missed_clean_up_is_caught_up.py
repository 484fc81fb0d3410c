"""The clean-up of a replacement is cut short by the next update, which owes it then."""


def version(value, names):
    parts = {name: RsrcDef({"c": GetRes("C")}, []) for name in names}
    return Template({"C": RsrcDef({"!a": value}, []), **parts})


def at_most_two():
    test.assertLessEqual(len(reality.resources_by_logical_name("C")), 2)


engine.create_stack("debt", version("one", "D"))
engine.noop(2)
engine.call(verify, version("one", "D"))
engine.update_stack("debt", version("two", "D"))
engine.noop(3)
engine.call(at_most_two)
engine.update_stack("debt", version("two", "DE"))
engine.noop(6)
engine.call(verify, version("two", "DE"))
engine.delete_stack("debt")
engine.noop(5)
engine.call(verify, Template())
