"""Five in a row: each is made after the one it needs, and with what that one became."""

chain = Template({
    "A": RsrcDef({"a": "start"}, []),
    "B": RsrcDef({"a": GetAtt("A", "a")}, []),
    "C": RsrcDef({"a": GetAtt("B", "a")}, []),
    "D": RsrcDef({"c": GetRes("C")}, []),
    "E": RsrcDef({"c": GetRes("D")}, ["A"]),
})


def only_so_many(expected):
    test.assertEqual(expected, len(reality.all_resources()))


engine.create_stack("row", chain)
engine.call(only_so_many, 1)
engine.call(only_so_many, 2)
engine.noop(3)
engine.call(verify, chain)
