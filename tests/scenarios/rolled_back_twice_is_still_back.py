"""A second rollback in the middle of the first goes to the same place."""


def version(value):
    return Template({"A": RsrcDef({"!a": value}, []), "B": RsrcDef({"a": GetRes("A")}, [])})


engine.create_stack("sure", version("good"))
engine.noop(2)
engine.call(verify, version("good"))
engine.update_stack("sure", version("bad"))
engine.noop(1)
engine.rollback_stack("sure")
engine.rollback_stack("sure")
engine.noop(8)
engine.call(verify, version("good"))
