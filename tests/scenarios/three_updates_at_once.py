"""Three updates before the worker takes a step: only the last one counts."""


def wish(value):
    return Template({"A": RsrcDef({"a": value}, []), value: RsrcDef({"b": GetAtt("A", "a")}, [])})


engine.create_stack("wishes", wish("none"))
engine.noop(2)
engine.call(verify, wish("none"))
engine.update_stack("wishes", wish("gold"))
engine.update_stack("wishes", wish("fame"))
engine.update_stack("wishes", wish("rest"))
engine.noop(9)
engine.call(verify, wish("rest"))
