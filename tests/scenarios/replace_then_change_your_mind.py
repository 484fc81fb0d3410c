"""The replacement is there, its users have not moved yet, and the user wants the old one back: it never went away."""


def version(value):
    return Template({
        "C": RsrcDef({"!a": value}, []),
        "D": RsrcDef({"c": GetRes("C")}, []),
        "E": RsrcDef({"c": GetRes("D")}, []),
    })


first = []


def remember():
    first.extend(reality.resources_by_logical_name("C"))


def it_is_the_first_one():
    test.assertEqual(first, reality.resources_by_logical_name("C"))


engine.create_stack("mind", version("old"))
engine.noop(3)
engine.call(verify, version("old"))
engine.call(remember)
engine.update_stack("mind", version("new"))
engine.noop(1)
engine.update_stack("mind", version("old"))
engine.noop(8)
engine.call(verify, version("old"))
engine.call(it_is_the_first_one)
