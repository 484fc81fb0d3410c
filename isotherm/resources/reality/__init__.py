"""Reality as types report it: observations and drift, the answers of a search by token, and a simulated service.

`observation` and `search` have the values that methods of a type return; authors take them from `contract`. `drift`
compares an observation with applied properties. `journal` keeps the objects of Heat's test types in a file.
"""
