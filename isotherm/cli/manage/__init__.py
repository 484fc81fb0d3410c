"""`heat-manage`, which is also `isotherm manage`: what operators do to a service, by the names that Heat gives it.

It works on the database, beside the engines that run and without them. Each command is in a file with its like.
"""
