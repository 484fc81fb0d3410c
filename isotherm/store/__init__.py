"""The store: the only package with SQL.

Callers hand units of work to `database.writer`, which commits together what came together. Units are grouped by what
they do: `operations`, `queue`, `versions`, `signals`, `watch`, `admin`; `reads` change nothing. `records` are the values
that go in and out.
"""
