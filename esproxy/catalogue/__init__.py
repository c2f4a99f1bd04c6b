"""What the cluster cannot say: which logical indices a tenant has in pools, and who else acts on it.

    names, documents   the documents of the catalogue and their identifiers
    store              the upstream calls on them, as generators of Call steps
    cache, members     directories in memory under a lease; who else follows
    sight              what one exchange believes, and whether it still holds when the answer comes
    change             one compare-and-set that recognises itself, and the two-phase wait
    pools, fields      where a new index goes; what a field is called there

Everything here is sans-I/O: generators over Call, Calls and Wait, clocks and random ids injected. The multi-step jobs
are in esproxy/procedures. docs/design/catalogue.md has the reasons and the interface.
"""
