"""The commands that change stacks or plan changes, one module per noun or verb."""
