"""Sphinx: the pages of this folder as HTML (`make docs`)."""

project = "Isotherm"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Isotherm"
myst_heading_anchors = 3
exclude_patterns = ["ledger.txt"]
