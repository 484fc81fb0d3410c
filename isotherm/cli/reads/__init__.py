"""The commands that read stacks and change nothing, one module per noun or verb."""
