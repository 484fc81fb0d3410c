"""The context that a type gets (`context.Context`) and the ports in it.

Types reach everything outside of themselves through these ports. The engine, the simulator and `isotherm.testing` implement
them. `signals`, `signal_urls`: how a resource is told of something. `software`: configs and deployments. `stacks`: stacks
inside stacks. `local_access`: the engine's own machine and its network.
"""
