"""The fault test of real processes: `make torture`.

Engines, APIs, a database, a broker and a cloud run as processes of their own. Users overlap their operations on a few
stacks through the API, and every few seconds something is killed, stopped, cut off or restarted. When the faults have
ended, and nobody has done anything, every stack must be what its newest accepted operation asked for, and the cloud
must hold that and nothing else.

What the engine's tables say counts for nothing here: the users' own book of what was accepted (`book`) and the cloud's
own store (`cloud`) are the witnesses. Only who owns an object is looked up in the database (`idle`).
"""
