"""Documents of one index that are stored without a question: as they are, or inside of one object.

Nearly every document has members only that its index knows. Which these are is a rule table whose state 0 is a document: what it
has no key for ends the pass. So one pass finds that a document is JSON, that it brings nothing, and where it ends; what is not
taken here has left no trace, and is somebody else's.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t

from types import SimpleNamespace

from esproxy._lex cimport space_end
from esproxy._memory cimport DEPTH_MAX, DONE, OK, Walker, begin, forget, restart, walker_give, walker_take, window_open
from esproxy._table cimport Act, Bindings, State, Table
from esproxy._texts cimport Texts
from esproxy._walk cimport walk

from esproxy.api.kinds import Kind, Op

cdef Table ANY = Table([{"kind": "DOC"}], [])
cdef Bindings AS_IT_IS = Bindings({})


cdef class Documents:
    """``Documents(table=None, front=b"", odd=())``: ``table`` None: any object. ``front`` is put before, and a bracket behind.
    A document that holds one of the ``odd`` texts is not for this."""

    def __cinit__(self, Table table=None, bytes front=b"", tuple odd=()):
        if table is not None and front:
            raise ValueError("what is put around a document goes around any")
        self.table = ANY if table is None else table
        wrap = SimpleNamespace(op=Op.WRAP, a=front, b=b"}", absent=b"")
        self.bindings = Bindings({Kind.DOC: wrap}) if front else AS_IT_IS
        self.odd = Texts(odd) if odd else None

    def have(self, bytes raw not None):
        """Is this one of them?"""
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(raw)
        cdef Walker* w = walker_take()
        if w == NULL:
            raise MemoryError
        begin(w, self.table.states, self.bindings.acts, 0, DEPTH_MAX)
        window_open(w, start, PyBytes_GET_SIZE(raw), True)
        try:
            return bool(self.take(w, start, start + PyBytes_GET_SIZE(raw)))
        finally:
            walker_give(w)

    cdef bint take(self, Walker* w, const uint8_t* start, const uint8_t* end) noexcept:
        """Walk it by another's walker, in whose window it stands, and note what is put around it. False: nothing has happened."""
        cdef const State* states = w.states
        cdef const Act* acts = w.acts
        cdef size_t n_edits = w.n_edits
        cdef ptrdiff_t grown = w.grow
        cdef const uint8_t* p = space_end(start, end)
        cdef bint taken
        if p >= end or p[0] != c"{" or (self.odd is not None and self.odd.between(start, end)):
            return False
        w.states = self.table.states
        w.acts = self.bindings.acts
        restart(w, 0)
        w.at = start
        w.end = end
        w.last = True
        taken = walk(w) == DONE
        w.states = states
        w.acts = acts
        w.slot = NULL  # they are the table's
        w.key = NULL
        if not taken:
            forget(w)
            w.hold = w.omit = w.drop = NULL
            w.status = OK
            w.n_edits = n_edits
            w.grow = grown
        return taken
