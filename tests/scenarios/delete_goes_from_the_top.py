"""What others use is deleted after them."""

plan = Template({
    "base": RsrcDef({"a": "x"}, []),
    "wall": RsrcDef({"a": GetRes("base")}, []),
    "roof": RsrcDef({"a": GetRes("wall")}, []),
})


def standing(*names):
    test.assertEqual(set(names), {one.name for one in reality.all_resources()})


engine.create_stack("house", plan)
engine.noop(3)
engine.call(verify, plan)
engine.delete_stack("house")
engine.call(standing, "base", "wall")
engine.call(standing, "base")
engine.noop(1)
engine.call(verify, Template())
