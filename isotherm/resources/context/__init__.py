"""The context that a type gets (`context.Context`) and the ports in it.

Types reach everything outside of themselves through these ports. The engine, the simulator and `isotherm.testing` implement
them. `signals`, `signal_urls`: signals to resources. `software`: configs and deployments. `stack_users`: users of Keystone
for single resources. `transports`: how servers learn of deployments. `stacks`: nested stacks. `shared_outputs`: outputs
of other stacks. `local_access`: the engine's
own machine and its network.
"""
