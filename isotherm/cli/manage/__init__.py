"""`heat-manage`, also called `isotherm manage`: commands for operators, with the names that Heat gives them.

They work on the database, with or without running engines. Related commands share a module.
"""
