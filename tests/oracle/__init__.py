"""The differential oracle: what a tenant sees through esproxy equals what it would see on a cluster of its own.

A *scenario* (``tests/scenarios/*.yaml``) is a list of calls. It runs twice: directly, against a node that holds nothing
else, and through the proxy as one tenant of a cluster where other tenants have indices of the same names with the
same ids and colliding field types. Answers are compared whole, after *named paths only* have been masked
(``normalise.py``, one table with reasons) and what a row of ``esproxy.api.deviations`` names.

    scenario.py    the format, and its loader
    client.py      sends a call: over a socket with the raw target, or to an ASGI app in this process
    answer.py      what came back, with numbers kept as they were spelled
    run.py         plays a scenario, keeps its answers
    normalise.py   what may differ between two runs, by path, and why
    compare.py     two answers → differences
    neighbours.py  the other tenants: what they hold, their canaries, their state as one hash
    coverage.py    which transitions of the rule tables the scenarios exercise in calls answered 2xx
    mutants.py     one binding or verification switched off each; every mutant must be caught
    report.py      figures; ``python -m tests.oracle`` runs all of it by hand
"""
