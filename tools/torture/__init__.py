"""The fault test of real processes: `make torture`.

Engines, APIs, a database, a broker and a cloud run as processes of their own. Users overlap their operations on a few
stacks through the API, and every few seconds a process is killed, stopped, cut off or restarted. After the faults, without
manual repair, every stack must have the state of its newest accepted operation, and the cloud must hold its objects only.

The engine's tables are no evidence here: the users' own record of accepted operations (`book`) and the cloud's own store
(`cloud`) are. Only the owner of an object is looked up in the database (`idle`).
"""
