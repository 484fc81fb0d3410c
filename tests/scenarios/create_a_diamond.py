"""Two ways from the top to the bottom: the bottom waits for both."""

diamond = Template({
    "top": RsrcDef({"a": "height"}, []),
    "left": RsrcDef({"a": GetAtt("top", "a")}, []),
    "right": RsrcDef({"!b": GetAtt("top", "a")}, []),
    "bottom": RsrcDef({"a": GetRes("left"), "b": GetRes("right")}, []),
})


def no_bottom_yet():
    test.assertEqual(0, len(reality.resources_by_logical_name("bottom")))


engine.create_stack("diamond", diamond)
engine.noop(1)
engine.call(no_bottom_yet)
engine.noop(2)
engine.call(verify, diamond)
engine.delete_stack("diamond")
engine.noop(4)
engine.call(verify, Template())
