"""A create of four, and an update after each of its steps: what was made is kept, and brought up to date."""


def version(number):
    value = str(number)
    return Template({
        "A": RsrcDef({"a": value}, []),
        "B": RsrcDef({"a": GetAtt("A", "a")}, []),
        "C": RsrcDef({"!a": GetAtt("B", "a")}, []),
        "D": RsrcDef({"c": GetRes("C")}, ["A"]),
    })


engine.create_stack("patience", version(0))
for number in range(1, 6):
    engine.update_stack("patience", version(number))
    engine.noop(number)
engine.noop(10)
engine.call(verify, version(5))
engine.delete_stack("patience")
engine.noop(5)
engine.call(verify, Template())
