"""Back, and then on to something else: the rollback left a sound stack behind."""


def version(value, extra=False):
    more = {"X": RsrcDef({"b": GetRes("C")}, [])} if extra else {}
    return Template({"C": RsrcDef({"!a": value}, []), "D": RsrcDef({"c": GetRes("C")}, []), **more})


engine.create_stack("onward", version("one"))
engine.noop(2)
engine.call(verify, version("one"))
engine.update_stack("onward", version("two", extra=True))
engine.noop(1)
engine.rollback_stack("onward")
engine.noop(6)
engine.call(verify, version("one"))
engine.update_stack("onward", version("three", extra=True))
engine.noop(9)
engine.call(verify, version("three", extra=True))
