"""A rollback that is interrupted, wherever it is, by another operation to the same place: the originals come back.

B was replaced together with A, and its own definition never changed: both versions of B are as the template says, and only
one of them uses the original A.
"""


def version(value):
    return Template({
        "A": RsrcDef({"!a": value}, []),
        "B": RsrcDef({"!a": GetRes("A")}, []),
        "C": RsrcDef({"a": GetRes("B")}, []),
    })


originals = {}


def objects(stack):
    return {one.uuid for one in reality.all_resources() if one.uuid.startswith(stack)}


def remember(stack):
    originals[stack] = objects(stack)


def compare(stack):
    test.assertEqual(originals[stack], objects(stack))


def back(again, stack):
    if again == "update":
        engine.update_stack(stack, version("good"))
    else:
        engine.rollback_stack(stack)


for again in ("rollback", "update"):
    for steps in range(6):
        stack = f"{again}{steps}"
        engine.create_stack(stack, version("good"))
        engine.noop(4)
        engine.call(remember, stack)
        engine.update_stack(stack, version("bad"))
        engine.noop(5)
        engine.rollback_stack(stack)
        engine.noop(steps)
        back(again, stack)
        engine.noop(12)
        engine.call(compare, stack)
        engine.delete_stack(stack)
        engine.noop(8)
