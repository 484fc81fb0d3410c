"""The engine in a process: the embedded engine, its home folder and keys, heartbeats and listeners.

    embedded        the engine of a process: facade, worker, legacy engine, observer, bus
    home, key_file  the home folder and its keys; home_files: the names of its files
    heartbeat       registers the process; liveness proves death by file locks; service_list lists all processes
    bus_listener    reacts to messages; file_listener reacts to writes of the SQLite file
    local_access    what resources reach of this machine; gauges: values for monitoring

`cli`, `api` and `importing` enter here.
"""
