"""The command line: `isotherm` and `heat-manage`.

`main` finds a command and imports only its module. Commands are in `stacks`, `language`, `tools`, `service` and `manage`;
`client` opens the engine for them; `show` prints. No other package imports this one.
"""
