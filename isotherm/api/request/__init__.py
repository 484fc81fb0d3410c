"""A request on its way to a handler: the call, the process-wide service, and the parsed stack body.

`instantiation` reads the body shared by create, update, preview and validate; `remote_files` fetches the files it names.
"""
