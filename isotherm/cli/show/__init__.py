"""Output to the terminal: tables, trees, the live picture, problems with their place in the template.

Every command prints through `console`; no other package imports rich or click's echo.
"""
