"""The commands on stacks, one module per noun or verb."""
