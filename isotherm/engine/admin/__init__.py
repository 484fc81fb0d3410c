"""Work of operators on a whole service: housekeeping and migration to convergence.

    housekeeping  listing, purging, resetting and sealing again, for `heat-manage`
    migrate       moves trees of stacks from the legacy path to convergence
    prove         decides by the rows alone which resources are as their template says

`cli.manage` enters here.
"""
