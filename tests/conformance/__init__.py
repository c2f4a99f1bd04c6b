"""The official YAML REST suite, played twice: on the bare node, and through the proxy as one tenant among eleven.

    python -m tests.conformance NODE [LAYOUT …]      by hand, see __main__.py
    tox run -e conformance                           both engines, all layouts

A test of the suite says *what* to call (``do: {search: {index: a, body: …}}``) and what must hold of the answer; definitions of
the API say *how* (methods, paths, parameters). Both are fetched through Maven (fetch). A file of tests is read the way its
authors' own runner reads it (reading), each test is played over plain HTTP (player, wire, calls), its assertions are functions
of the last answer and of what was stashed from earlier ones (assertions, values), and what does not suit the target is skipped
(conditions). After each test the target is emptied (cleaning); through the proxy it is also checked that ten other tenants'
data is as it was and that no answer held a byte of theirs (others).

``lists/`` names the tests that count, per family of engines: those that pass on the bare node and are about something a tenant
can own. They are fixed. ``misses/`` names, per family and layout, the listed tests that do not pass through the proxy, each
under its reason; the run fails when another test misses, and when one of these passes (report).
"""
