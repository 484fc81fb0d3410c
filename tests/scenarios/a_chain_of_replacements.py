"""Each has the one before as something it cannot change: one new foundation, and all is rebuilt."""


def built_on(ground):
    return Template({
        "A": RsrcDef({"!a": ground}, []),
        "B": RsrcDef({"!a": GetRes("A")}, []),
        "C": RsrcDef({"!a": GetRes("B")}, []),
    })


engine.create_stack("tower", built_on("sand"))
engine.noop(3)
engine.call(verify, built_on("sand"))
engine.update_stack("tower", built_on("rock"))
engine.noop(9)
engine.call(verify, built_on("rock"))
engine.delete_stack("tower")
engine.noop(3)
engine.call(verify, Template())
