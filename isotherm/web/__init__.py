"""The built page: its files, which tools/page.py puts into `static`, and the headers that they are sent with.

It knows nothing of stacks or sessions; `isotherm.api.browser` mounts it.
"""
