"""An update comes during a rollback: the newest operation wins."""


def version(value):
    return Template({
        "A": RsrcDef({"!a": value}, []),
        "B": RsrcDef({"b": GetAtt("A", "!a")}, []),
        "C": RsrcDef({"c": GetRes("B")}, []),
    })


engine.create_stack("race", version("one"))
engine.noop(3)
engine.call(verify, version("one"))
engine.update_stack("race", version("two"))
engine.noop(2)
engine.rollback_stack("race")
engine.noop(1)
engine.update_stack("race", version("three"))
engine.noop(12)
engine.call(verify, version("three"))
