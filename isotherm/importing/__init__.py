"""Brings the stacks of a real Heat into Isotherm, from Heat's own database, without touching anything that they made.

What comes over, tree by tree: templates, environments, files, parameters (opened with Heat's key), physical ids, what
resources keep, tags, states. It arrives at rest: an update that asks for nothing new finds nothing to do.

    heat_rows      reads Heat's database: the only module here that knows SQL, and Heat's tables
    opening        opens what Heat has encrypted
    judging        says what of a tree is not understood: such a tree stays where it is, as a whole
    translating    by type: what Heat keeps of a resource, in our words
    ports          what resources may read of each other while they arrive
    given          what Heat was asked for, as its users gave it
    preparing      from Heat's rows to ours (prepared: the values that this is made of)
    bringing       the whole way, for whoever asks
"""
