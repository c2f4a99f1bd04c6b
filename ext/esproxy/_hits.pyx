"""What a resolver of hits, or of a bulk's records, lets the machine answer: the Python side of _told.pyx."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

from esproxy._memory cimport Told


cdef inline const uint8_t* text(bytes of) noexcept:
    return <const uint8_t*>PyBytes_AS_STRING(of)


cdef class Hits:
    """A resolver for hits of indices whose documents carry a scope: what most stops of an answer ask is answered here, without
    Python, under rules that the one who inherits it sets; it is asked what is left, and works on the same state.

    ``token``    an index's name as nodes write it, with its quotes; ``name_token`` what goes there, ``only`` the list of its one target
    ``front``    of ids: the quote and the scope; empty where several targets are ``here``, or one that has no scope
    ``bare``     the routing of a document that was given none; empty where the routing says more
    ``nest``     what stands before a document; None: documents are Python's

    With ``most`` above 0 it is one for action lines of a bulk: ids that have no escapes and at most so many bytes, quotes included,
    get ``before_id`` for their first quote and ``behind_id`` behind them, and are counted in ``ids``.

    What the machine does with it, and the invariants, are told in _told.pyx.
    """

    def __cinit__(self):
        self.here, self.last, self.before = [], None, None
        self.only = []
        self.token = self.name_token = self.front = self.bare = self.before_id = self.behind_id = b""

    cdef Hits unread(self):
        """One that is set as this is, for another answer."""
        cdef Hits one = Hits.__new__(Hits)
        one.only, one.token, one.name_token = self.only, self.token, self.name_token
        one.front, one.bare, one.nest = self.front, self.bare, self.nest
        return one

    cdef Told* tell(self) except NULL:
        """What the machine may answer by, as things stand now."""
        cdef Told* t = &self.told
        t.token, t.token_size = text(self.token), PyBytes_GET_SIZE(self.token)
        t.name, t.name_size = text(self.name_token), PyBytes_GET_SIZE(self.name_token)
        t.front, t.front_size = text(self.front), PyBytes_GET_SIZE(self.front)
        t.bare, t.bare_size = text(self.bare), PyBytes_GET_SIZE(self.bare)
        t.before, t.before_size = text(self.before_id), PyBytes_GET_SIZE(self.before_id)
        t.behind, t.behind_size = text(self.behind_id), PyBytes_GET_SIZE(self.behind_id)
        t.documents = self.nest is not None
        t.nest_size = 0
        if self.nest is not None:
            t.nest, t.nest_size = text(self.nest), PyBytes_GET_SIZE(self.nest)
        t.most = self.most
        t.here = bool(self.here)
        t.verified = self.verified
        t.met, t.named, t.ids = False, 0, 0
        return t

    cdef int hear(self) except -1:
        """What the machine has come upon since."""
        cdef Told* t = &self.told
        if t.named:
            self.before = self.last if t.named == 1 else self.only[0]
            self.last, self.here, self.waiting = self.only[0], self.only, False
        if t.met:
            self.last = self.here[0]
        self.verified = t.verified
        self.ids += t.ids
        t.met, t.named, t.ids = False, 0, 0
        return 0
