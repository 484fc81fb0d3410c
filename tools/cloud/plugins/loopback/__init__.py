"""Drivers and launchers of the cloud of the tests. They run in the cloud's own environment, never in ours.

The drivers stand in for hypervisors, agents and storage, so that the stock services work on the loopback interface alone.
"""
