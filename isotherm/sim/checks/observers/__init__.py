"""Checks of the observers (I19), and of drift in the idle state (I2).

`safety` checks each observation, repair and change of an object, and `idle` what is left in the idle state. `policies`
works out what the clients asked for. Only the witness, the clients and the run use this package.
"""
