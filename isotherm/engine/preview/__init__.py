"""What an update would do: item by item, for the whole tree of stacks, and in the form of Heat's API.

The decisions are those of `engine.steps.decide`, which applies them too.
"""
