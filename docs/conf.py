"""Sphinx configuration: the pages of this folder as HTML (`make docs`)."""

from typing import Any

from pygments.lexers.special import TextLexer

project = "Isotherm"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Isotherm"
myst_heading_anchors = 3
exclude_patterns = ["ledger.txt"]


def setup(app: Any) -> None:
    """Show mermaid diagrams as their source text: drawing them would need a script from another site."""
    app.add_lexer("mermaid", TextLexer)
