"""Previews of a create or an update; nothing is changed. Entered through `engine.orchestrator`.

`previews` is the service. `update_preview` previews the resources of one stack, `preview_tree` those of a stack and its
nested stacks, `heat_form` turns the tree into Heat's documents. Decisions are made by `engine.steps.decide`, as in a
worker.
"""
