"""Steps, shared by both architectures: from a claim to a decision, and from a decision to the report of an action.

`convergence` and `legacy` make the claims and record the reports.
"""
