"""Services for the objects of a stack: taken in (import, adopt), let go (export, abandon, forget) and protected.

Entered through `engine.orchestrator`. Each service class takes ServicePorts and a Requester, as in `engine.operations`,
whose `accept` these modules use; `adopt` and `import_checks` have no service of their own.
"""
