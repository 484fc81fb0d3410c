"""A value changes at the source, in place, and all dependants are updated; none is replaced."""

before = Template({
    "A": RsrcDef({"a": "old"}, []),
    "B": RsrcDef({"a": GetAtt("A", "a")}, []),
    "C": RsrcDef({"a": GetAtt("B", "a")}, []),
    "D": RsrcDef({"b": "aside"}, []),
})
after = Template({**before.resources, "A": RsrcDef({"a": "new"}, [])})
known = set()


def remember():
    known.update(one.uuid for one in reality.all_resources())


def nobody_was_replaced():
    test.assertEqual(known, {one.uuid for one in reality.all_resources()})


engine.create_stack("stream", before)
engine.noop(4)
engine.call(verify, before)
engine.call(remember)
engine.update_stack("stream", after)
engine.noop(4)
engine.call(verify, after)
engine.call(nobody_was_replaced)
