"""The engine: accepts operations on stacks and carries them out.

`orchestrator` is the entrance for the API and the command line. `operations` holds what can be asked for, `queries` what
can be read, `preview` what would happen. `steps` decides and acts on one node for both architectures, `convergence` and
`legacy` schedule the steps, `nested` serves stacks inside stacks, `process` runs the parts in a process, `admin` serves
operators.
"""
