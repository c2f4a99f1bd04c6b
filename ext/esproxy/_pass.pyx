"""Passes: where the machine meets Python. Bytes come in, bytes go out, the resolver is called, failures get their words.

`Body` is what every pass has: a walker, the window's life around one ``feed``, the resolver's calls and the assembly of the
output from the edits. `Pass` reads one JSON body with it; `esproxy._bulk` reads lines. `rewrite` is a `Pass` without the object.

The output of a ``feed`` is allocated once, at its exact size, from the list of edits. Without an edit it is the fed object
itself, when all of it may leave. A pass that has failed or missed has no output: what it would put out is not understood.

`error_class` and `statuses` are given by esproxy/core.py at import, because they are Python and stand above this module.
"""

cimport cython
cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from esproxy._hits cimport Hits
from esproxy._lex cimport ES_WIDE
from esproxy._memory cimport (
    DEPTH_MAX, Edit, KEY_SHOWN, NO_MEMORY, OK, RAISED, STOP, UNRESOLVED, VIOLATION, Walker, begin, edit, edits_done, fail,
    walker_give, walker_take, window_close, window_open,
)
from esproxy._table cimport KIND_FIELD, KIND_SOURCE, OP_STRIP, Bindings, Table
from esproxy._walk cimport walk

from esproxy.api.kinds import Kind

WIDE = (<bytes>ES_WIDE).decode()
cdef tuple KINDS = tuple(Kind(number) if number in Kind.__members__.values() else None for number in range(32))
cdef object error_class = None
cdef tuple statuses = ()


def use(error, names):
    """Take the classes that failures are told with: ``error(status, offset, key, reason)``; ``names`` by number."""
    global error_class, statuses
    error_class = error
    statuses = tuple(names)


@cython.freelist(8)
cdef class Body:
    """What passes have in common. Not to be made by itself."""

    cdef int take(self, Table table, Bindings bindings, object resolver, int root, int max_depth) except -1:
        if not 0 <= root < table.size:
            raise ValueError(f"there is no state {root}")
        if not 1 <= max_depth <= DEPTH_MAX:
            raise ValueError(f"max_depth is {max_depth}, not 1 to {DEPTH_MAX}")
        self.w = walker_take()
        if self.w == NULL:
            raise MemoryError
        begin(self.w, table.states, bindings.acts, root, max_depth)
        self.table = table
        self.bindings = bindings
        self.resolver = resolver
        self.hits = resolver if isinstance(resolver, Hits) else None
        return 0

    def __dealloc__(self):
        if self.w != NULL:
            walker_give(self.w)

    cdef int open(self, bytes data, Py_ssize_t at, bint last) except -1:
        """Begin a ``feed`` of what stands from ``at`` on. Returns 1 when the pass has failed before and reads no more."""
        if self.busy:
            raise RuntimeError("a resolver feeds the pass that called it")
        if self.w.status != OK:
            return 1
        if self.finished:
            raise ValueError("the pass was fed after its last bytes")
        if not window_open(self.w, <const uint8_t*>PyBytes_AS_STRING(data) + at, PyBytes_GET_SIZE(data) - at, last):
            fail(self.w, NO_MEMORY, self.w.base)
            raise MemoryError
        self.finished = last
        if self.hits is not None:
            self.w.told = self.hits.tell()
        return 0

    cdef int resolve(self) except -1:
        """Answer a stop: note the edit, count the miss, or fail. What the resolver raises leaves by itself."""
        cdef Walker* w = self.w
        cdef bytes token
        cdef Py_ssize_t size = w.stop_end - w.stop_start
        cdef const uint8_t* omit
        omit, w.omit = w.omit, NULL
        if self.resolver is None:
            fail(w, VIOLATION if w.stop_op == OP_STRIP else UNRESOLVED, w.stop_start)
            return 0
        token = PyBytes_FromStringAndSize(<const char*>w.stop_start, size)
        if self.hits is not None:
            self.hits.hear()
        self.busy = True
        fail(w, RAISED, w.stop_start)  # until it has answered
        try:
            answer = self.resolver(KINDS[w.stop_kind], token)
            if answer is None:
                self.misses += 1
            elif type(answer) is not bytes:
                raise TypeError(f"a resolver answers in bytes, not {type(answer).__name__}")
            elif not answer and omit == NULL:
                raise ValueError("a resolver answers nothing for what cannot be left out")
            w.status = OK
        finally:
            self.busy = False
        if self.hits is not None:
            w.told = self.hits.tell()
        if answer is None or answer == token:
            return 0
        if not answer:
            if not edit(w, omit, w.stop_end - omit, NULL, 0):
                fail(w, NO_MEMORY, w.base)
                raise MemoryError
            return 0
        if self.answers is None:
            self.answers = []
        # A copy, because an object can lie in far more memory than it has bytes (orjson's: 4 KiB for the shortest), and as many
        # are kept as there are edits in the window.
        answer = PyBytes_FromStringAndSize(PyBytes_AS_STRING(answer), PyBytes_GET_SIZE(answer))
        self.answers.append(answer)
        if not edit(w, w.stop_start, size, <const uint8_t*>PyBytes_AS_STRING(answer), PyBytes_GET_SIZE(answer)):
            fail(w, NO_MEMORY, w.base)
            raise MemoryError
        return 0

    cdef int run(self) except -1:
        """Walk to the end of the window, or of the body, or to a failure."""
        while walk(self.w) == STOP:
            self.resolve()
            if self.w.status != OK:
                break
        return 0

    cdef bytes close(self, bytes data, bytes front, const uint8_t* limit, size_t n_edits, ptrdiff_t grown):
        """End a ``feed``: the output of the window up to ``limit``, where ``n_edits`` edits stand; the rest is kept. ``front``: as
        for `assemble`."""
        cdef Walker* w = self.w
        cdef bytes out = b""
        if self.hits is not None:
            self.hits.hear()
        if w.status == NO_MEMORY:
            raise MemoryError
        if w.status != OK:
            return out
        if w.drop != NULL:
            if w.drop < limit and not edit(w, w.drop, limit - w.drop, NULL, 0):
                fail(w, NO_MEMORY, w.base)
                raise MemoryError
            w.drop = limit
            n_edits, grown = w.n_edits, w.grow
        if self.misses == 0:
            out = assemble(w, data, front, limit, n_edits, grown)
        edits_done(w, n_edits, grown)
        if self.answers is not None and w.n_edits == 0:
            self.answers.clear()
        if not self.finished and not window_close(w, limit):
            fail(w, NO_MEMORY, w.base)
            raise MemoryError
        return out

    @property
    def status(self):
        return statuses[self.w.status]

    @property
    def offset(self):
        """The byte at fault, or how many bytes were understood."""
        return self.w.fail_at if self.w.status != OK else self.w.passed + (self.w.at - self.w.base)

    @property
    def key(self):
        """The key at fault as it stands in the body, its first 64 bytes; b"" when there is none or it is not known."""
        return b"" if self.w.status == OK else last_key(self.w)

    @property
    def reason(self):
        """Index into the table's reasons; -1 when the refusal is a binding's, or there is none."""
        return self.w.reason

    @property
    def error(self):
        """The failure as an exception, not raised; None while all is well."""
        return None if self.w.status == OK else failure(self.w, self.table)

    @property
    def marks(self):
        return self.w.marks

    @property
    def unknown(self):
        return self.w.unknown


cdef class Pass(Body):
    """One body: ``Pass(table, state, bindings, resolver=None, *, max_depth=100)``."""

    def __cinit__(self, Table table not None, int state, Bindings bindings not None, resolver=None, *, int max_depth=100):
        self.take(table, bindings, resolver, state, max_depth)

    def feed(self, bytes data not None, bint last):
        """Read on; returns rewritten bytes, possibly fewer than fed. After a failure or a miss there are none."""
        if self.open(data, 0, last):
            return b""
        self.run()
        return self.close(data, None, self.w.at if self.w.hold == NULL else self.w.hold, self.w.n_edits, self.w.grow)

    def __repr__(self):
        return f"<Pass {self.status.name} at {self.offset}>"


cdef class Alone:
    """Whole bodies under one state, of which nothing is to be known: ``Alone(table, state, bindings, *, max_depth=100, marks=0,
    fields={}, sources={}, hits=None, reader=None)``.

    A body goes through the same pass as any other, and there is no word of why it is not understood: whoever gets None lets a
    `Pass` with a resolver find out. It is None at the first stop, but for

    ``fields``  names of fields, as they stand in a body → what goes there; ``sources`` the same in filters of sources
    ``hits``    each body gets one that is as this one is set. What that leaves is asked of the resolver that ``reader(hits)`` makes
                of it, which inherits `Hits`, too, and takes its place; what it raises leaves by itself

    ``unknown`` counts the keys in all of them that no definition knows; whoever reads it sets it back.
    """

    cdef Table table
    cdef Bindings bindings
    cdef int root
    cdef int max_depth
    cdef uint64_t marks
    cdef public uint64_t unknown
    cdef dict fields
    cdef dict sources
    cdef Hits hits
    cdef object reader

    def __cinit__(
        self, Table table not None, int state, Bindings bindings not None, *, int max_depth=100, int marks=0,
        dict fields=None, dict sources=None, Hits hits=None, reader=None,
    ):
        cdef Body one = Body.__new__(Body)
        if (hits is None) != (reader is None):
            raise TypeError("hits and what reads on go together")
        one.take(table, bindings, None, state, max_depth)  # or raise
        self.table = table
        self.bindings = bindings
        self.root = state
        self.max_depth = max_depth
        self.marks = marks
        self.fields = {} if fields is None else dict(fields)
        self.sources = {} if sources is None else dict(sources)
        self.hits = hits
        self.reader = reader

    def rewritten(self, bytes body not None, Py_ssize_t at=0, bytes front=None, Py_ssize_t most=PY_SSIZE_T_MAX):
        """The output of what stands from ``at`` on; None for what is not understood, asks for anything, has one of the marks, or
        would be longer than ``most``. ``front``: the head of an HTTP message, which its length and the output are put behind."""
        cdef Body one = Body.__new__(Body)
        if not 0 <= at <= PyBytes_GET_SIZE(body):
            raise ValueError("there is no such place")
        one.take(self.table, self.bindings, None, self.root, self.max_depth)
        if self.hits is not None:
            one.hits = self.hits.unread()
        one.open(body, at, True)
        while walk(one.w) == STOP:
            if not self.known(one):
                return None
        if one.w.status != OK or one.w.marks & self.marks or one.misses or one.w.end - one.w.base + one.w.grow > most:
            return None
        self.unknown += one.w.unknown
        return one.close(body, front, one.w.at if one.w.hold == NULL else one.w.hold, one.w.n_edits, one.w.grow)

    cdef bint known(self, Body one) except -1:
        """Answer a stop. 0: there is nobody to ask, or no answer."""
        cdef Walker* w = one.w
        cdef bytes sent
        if self.hits is None:
            if w.stop_kind != KIND_FIELD and w.stop_kind != KIND_SOURCE:
                return False
            w.omit = NULL
            token = PyBytes_FromStringAndSize(<const char*>w.stop_start, w.stop_end - w.stop_start)
            sent = (self.fields if w.stop_kind == KIND_FIELD else self.sources).get(token)
            if sent is None:
                return False
            if sent == token:
                return True
            return edit(w, w.stop_start, w.stop_end - w.stop_start, <const uint8_t*>PyBytes_AS_STRING(sent), PyBytes_GET_SIZE(sent))
        if one.resolver is None:
            one.hits.hear()
            one.resolver = one.hits = self.reader(one.hits)
            w.told = one.hits.tell()
        one.resolve()
        return w.status == OK


def rewrite(Table table not None, int state, Bindings bindings not None, bytes body not None, resolver=None):
    """Rewrite a whole body. Raises BodyError, with status UNRESOLVED also where the resolver missed."""
    cdef Pass one
    cdef Walker* w
    cdef bytes out
    if not 0 <= state < table.size:
        raise ValueError(f"there is no state {state}")
    if resolver is not None:
        one = Pass(table, state, bindings, resolver)
        out = one.feed(body, True)
        if one.misses and one.w.status == OK:
            raise error_class(statuses[UNRESOLVED], one.offset, b"", "")
        if one.w.status != OK:
            raise failure(one.w, table)
        return out
    w = walker_take()
    if w == NULL:
        raise MemoryError
    try:
        begin(w, table.states, bindings.acts, state, 100)
        window_open(w, <const uint8_t*>PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body), True)
        if walk(w) == STOP:
            fail(w, VIOLATION if w.stop_op == OP_STRIP else UNRESOLVED, w.stop_start)
        if w.status != OK:
            raise failure(w, table)
        return assemble(w, body, None, w.at, w.n_edits, w.grow)
    finally:
        walker_give(w)


cdef bytes assemble(Walker* w, bytes data, bytes front, const uint8_t* limit, size_t n_edits, ptrdiff_t grown):
    """The window up to ``limit`` with its edits carried out; ``data`` itself when that is the same. With ``front``, the head of a
    message, all of that message."""
    cdef const uint8_t* p = w.base
    cdef const Edit* e = w.edits
    cdef const Edit* last = w.edits + n_edits
    cdef Py_ssize_t size = (limit - p) + grown
    cdef bytes out
    cdef uint8_t* to
    if front is not None:
        front = b"%bcontent-length: %d\r\n\r\n" % (front, size)
        out = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(front) + size)
        to = <uint8_t*>PyBytes_AS_STRING(out)
        memcpy(to, PyBytes_AS_STRING(front), PyBytes_GET_SIZE(front))
        to += PyBytes_GET_SIZE(front)
    elif n_edits == 0 and size == PyBytes_GET_SIZE(data) and p == <const uint8_t*>PyBytes_AS_STRING(data):
        return data
    else:
        out = PyBytes_FromStringAndSize(NULL, size)
        to = <uint8_t*>PyBytes_AS_STRING(out)
    while e < last:
        memcpy(to, p, e.at - p)
        to += e.at - p
        if e.put_size:
            memcpy(to, e.put, e.put_size)
            to += e.put_size
        p = e.at + e.cut
        e += 1
    memcpy(to, p, limit - p)
    return out


cdef bytes last_key(Walker* w):
    if w.slot != NULL:
        return (<const char*>w.slot.name)[:min(<size_t>w.slot.size, <size_t>KEY_SHOWN)]
    if w.key == NULL:
        return b""
    return (<const char*>w.key)[:min(w.key_size, <size_t>KEY_SHOWN)]


cdef object failure(Walker* w, Table table):
    if w.status == NO_MEMORY:
        return MemoryError()
    reason = ""
    if w.reason >= 0:
        reason = table.reasons[w.reason]
    elif w.refusal != NULL and w.refusal.a_size:
        reason = (<const char*>w.refusal.a)[:w.refusal.a_size].decode(errors="replace")
    return error_class(statuses[w.status], w.fail_at, last_key(w), reason)
