"""Stacks inside stacks: the `Stacks` port of the contract, as reads (`inner_reads`) and changes (`inner_stacks`)."""
