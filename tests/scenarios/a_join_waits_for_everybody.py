"""Eight leaves, and one that needs them all: it comes last, whatever the order."""

leaves = {f"leaf{number}": RsrcDef({"a": str(number)}, []) for number in range(8)}
tree = Template({**leaves, "root": RsrcDef({"b": GetRes("leaf0")}, sorted(leaves))})


def no_root_before_its_leaves():
    if reality.resources_by_logical_name("root"):
        test.assertEqual(9, len(reality.all_resources()))


engine.create_stack("tree", tree)
for _ in range(9):
    engine.call(no_root_before_its_leaves)
engine.call(verify, tree)
