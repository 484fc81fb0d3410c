"""Queries: everything that can be read of stacks, resources, events, inputs and outputs. Nothing here changes a stack.

Entered through `engine.orchestrator`. `stacks` and `lists` read rows alone and import no template language: commands that
only read use them through `engine.process.home`. `feed` streams events, `follow` observes one stack for a live display.
"""
