"""The studio as several replicas, for more visitors than one process or one machine serves: on Ray Serve, which starts,
watches and replaces them. docs/replicas.md says how to run it.

    ray_serve.py   the command: replicas on this machine, from start to end
    replica.py     one replica, and the Ray Serve application that consists of them
    affinity.py    whose request is it: reads cookie, session hash and event id
    router.py      Ray Serve's request router: a visitor's requests go to the visitor's replica
    front.py       in Ray Serve's HTTP proxy, before everything else: the gate, and sentences for what broke off
"""
