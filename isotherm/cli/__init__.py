"""The command line: `isotherm` and `heat-manage`.

`main` finds a command and loads only its module. Commands are in `stacks`, `language`, `tools`, `service` and `manage`;
`client` opens the engine for them, `show` draws. Nothing outside imports this package.
"""
