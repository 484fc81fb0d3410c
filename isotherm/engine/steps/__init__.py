"""What both architectures share: from a claim to a decision, and from there to a step of a resource's operation.

Whoever schedules (many workers on rows, or one engine on a graph in memory) makes the claims and records the reports.
"""
