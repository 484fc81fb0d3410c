"""The commands that run the service (up, api, engine, observer), with its sockets, connections and supervisor."""
