"""Nested stacks: the `Stacks` port of a type's context, as reads (`inner_reads`) and changes (`inner_stacks`)."""
