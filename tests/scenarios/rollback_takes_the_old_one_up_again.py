"""In the middle of a replacement, back: the old version is still there, and is taken up as it is."""


def version(value):
    return Template({
        "A": RsrcDef({"a": value}, []),
        "C": RsrcDef({"!a": GetAtt("A", "a")}, []),
        "D": RsrcDef({"c": GetRes("C")}, []),
    })


first = []


def remember():
    first.extend(reality.resources_by_logical_name("D"))


def same_user():
    test.assertEqual(first, reality.resources_by_logical_name("D"))


engine.create_stack("back", version("good"))
engine.noop(3)
engine.call(verify, version("good"))
engine.call(remember)
engine.update_stack("back", version("bad"))
engine.noop(2)
engine.rollback_stack("back")
engine.noop(9)
engine.call(verify, version("good"))
engine.call(same_user)
