"""A plug-in for Isotherm: tables in SQLite files."""
