"""Commands that run the service (up, api, engine, observer), its sockets, connections and supervised workers."""
