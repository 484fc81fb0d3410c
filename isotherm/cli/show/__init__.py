"""Output to the terminal: tables, trees, the live view, and problems with their location in the template.

Every command prints through `console.Printer`.
"""
