"""Queries of the page and of the commands `why` and `timeline`: heads, lists, graphs, timelines, plans.

Nothing here writes. Each answer is bounded, whatever the size of the stack: groups of boxes, budgets and pages. Large
stacks are read in pieces, and what is expensive is remembered: `tallies` keeps counts, `graphs` the structure of a graph.
"""
