"""A second replacement is asked for while the first is under way: in the end there is one, the newest."""


def version(value):
    return Template({
        "C": RsrcDef({"!a": value}, []),
        "D": RsrcDef({"c": GetRes("C")}, []),
        "E": RsrcDef({"ca": GetAtt("C", "!a")}, ["D"]),
    })


engine.create_stack("haste", version("one"))
engine.noop(3)
engine.call(verify, version("one"))
engine.update_stack("haste", version("two"))
engine.noop(1)
engine.update_stack("haste", version("three"))
engine.noop(2)
engine.update_stack("haste", version("four"))
engine.noop(12)
engine.call(verify, version("four"))
