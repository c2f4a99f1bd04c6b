"""Calls by the ten thousand: made of what nodes have taken, played on a bare node and as one tenant of twenty, and compared.

The scenarios say what someone thought of. Here calls are made by chance from the rule tables: any endpoint that is served, any
parameter, queries in queries and aggregations in aggregations to a depth of six. Bodies of pure chance are hardly ever taken, and
what every node refuses shows nothing; so the scenarios are the *material*: each body that a node takes is cut at the states of
its table, and what stands at a state anywhere is put where that state stands elsewhere, with fields of the same type for its
fields. So most calls are taken (the share is printed), and keys meet that nobody has thought to put together.

    material.py   what the scenarios hold, by the states of the tables
    grow.py       a body → another, by splicing, dropping and changing
    calls.py      calls and sequences of calls, by chance and yet by a seed
    tenants.py    twenty tenants with the same names and ids
    judge.py      whether two answers are one, deviations aside; differences by cause
    play.py       plays sequences on a node, and through a proxy
    rounds.py     the same calls on a bare node, and as a tenant in one placement after the other
    known.py      causes that are known and not mended
    shrink.py     a call that differs → the shortest that does, as a scenario

Calls come in *sequences*: each begins with the calls ``world`` of ``_shared.yaml`` on an empty cluster, so that it can be
played by itself, and what was written in one is gone in the next. ``python -m tests.oracle.generated`` plays them by hand.
"""
