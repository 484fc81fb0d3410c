"""The engine: accepts operations on stacks and carries them out.

`orchestrator` is the facade for the API and the command line. `operations` accepts requests, `queries` reads, `preview`
shows what an update would do. `steps` decides and acts on one node for both architectures; `convergence` and `legacy`
schedule the steps. `nested` serves nested stacks, `process` runs the parts in a process, `admin` serves operators.
"""
