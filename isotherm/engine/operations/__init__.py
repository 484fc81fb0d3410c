"""Operations that the engine accepts, one module for each noun; each service class takes ServicePorts and a Requester.

Entered through `engine.orchestrator`. `accept` has the steps that all of them share; `limited`, `patch` and
`scaling` have no service of their own and are used by `stacks` and `signals`.
"""
