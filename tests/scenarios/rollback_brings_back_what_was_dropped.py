"""An update drops B; before it is through, the rollback comes: B was never touched."""

before = Template({
    "A": RsrcDef({"a": "x"}, []),
    "B": RsrcDef({"b": "keep me"}, []),
    "C": RsrcDef({"a": GetAtt("A", "a")}, ["B"]),
})
after = Template({
    "A": RsrcDef({"a": "y"}, []),
    "C": RsrcDef({"a": GetAtt("A", "a")}, []),
})
first = []


def remember():
    first.extend(reality.resources_by_logical_name("B"))


def it_was_never_touched():
    test.assertEqual(first, reality.resources_by_logical_name("B"))


engine.create_stack("drop", before)
engine.noop(3)
engine.call(verify, before)
engine.call(remember)
engine.update_stack("drop", after)
engine.rollback_stack("drop")
engine.noop(8)
engine.call(verify, before)
engine.call(it_was_never_touched)
