"""Passes: where the machine meets Python. Bytes come in, bytes go out, the resolver is called, failures get their words.

`Body` is what every pass has: a walker, the window's life around one ``feed``, the resolver's calls and the assembly of the
output from the edits. `Pass` reads one JSON body with it; `esproxy._bulk` reads lines. `rewrite` is a `Pass` without the object.

The output of a ``feed`` is allocated once, at its exact size, from the list of edits. Without an edit it is the fed object
itself, when all of it may leave. A pass that has failed or missed has no output: what it would put out is not understood.

`error_class` and `statuses` are given by esproxy/core.py at import, because they are Python and stand above this module.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from esproxy._lex cimport ES_WIDE
from esproxy._memory cimport (
    DEPTH_MAX, Edit, KEY_SHOWN, NO_MEMORY, OK, RAISED, STOP, UNRESOLVED, VIOLATION, Walker, begin, edit, edits_done, fail,
    walker_give, walker_take, window_close, window_open,
)
from esproxy._table cimport KIND_DOC, KIND_ID, KIND_INDEX, KIND_ROUTING, OP_STRIP, Bindings, Table
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

    cdef int open(self, bytes data, bint last) except -1:
        """Begin a ``feed``. Returns 1 when the pass has failed before and reads no more."""
        if self.busy:
            raise RuntimeError("a resolver feeds the pass that called it")
        if self.w.status != OK:
            return 1
        if self.finished:
            raise ValueError("the pass was fed after its last bytes")
        if not window_open(self.w, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), last):
            fail(self.w, NO_MEMORY, self.w.base)
            raise MemoryError
        self.finished = last
        return 0

    cdef int resolve(self) except -1:
        """Answer a stop: note the edit, count the miss, or fail. What the resolver raises leaves by itself."""
        cdef Walker* w = self.w
        cdef bytes token
        cdef Py_ssize_t size = w.stop_end - w.stop_start
        cdef const uint8_t* omit
        if self.hits is not None and self.hits.quick(w):
            return 0
        omit, w.omit = w.omit, NULL
        if self.resolver is None:
            fail(w, VIOLATION if w.stop_op == OP_STRIP else UNRESOLVED, w.stop_start)
            return 0
        token = PyBytes_FromStringAndSize(<const char*>w.stop_start, size)
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

    cdef bytes close(self, bytes data, const uint8_t* limit, size_t n_edits, ptrdiff_t grown):
        """End a ``feed``: the output of the window up to ``limit``, where ``n_edits`` edits stand; the rest is kept."""
        cdef Walker* w = self.w
        cdef bytes out = b""
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
            out = assemble(w, data, limit, n_edits, grown)
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


cdef class Hits:
    """A resolver for hits of indices whose documents carry a scope: what most stops of an answer ask is answered here, without
    Python, under rules that the one who inherits it sets; it is asked what is left, and works on the same state.

    ``token``    an index's name as nodes write it, with its quotes; ``name_token`` what goes there, ``only`` the list of its one target
    ``front``    of ids: the quote and the scope; empty where several targets are ``here``, or one that has no scope
    ``bare``     the routing of a document that was given none; empty where the routing says more
    ``nest``     what stands before a document; None: documents are Python's

    Invariants: what is set with ``front`` belongs to the one target that is ``here``, or will be once an index has been named, if
    there is but one that may be. A document or a routing passes only behind an
    id that began with that scope, since the last name of an index. Who sets ``name_token`` keeps it: edits point into it.
    """

    def __cinit__(self):
        self.here, self.last, self.before = [], None, None
        self.only = []
        self.token = self.name_token = self.front = self.bare = b""

    cdef int quick(self, Walker* w) except -1:
        """Answer the stop by edits. 0: it has to be asked."""
        cdef const uint8_t* p = w.stop_start
        cdef size_t size = w.stop_end - p
        cdef const uint8_t* omit
        if w.stop_kind == KIND_ID:
            if not begins(p, size, self.front) or PyBytes_GET_SIZE(self.front) == 0 or not self.here:
                return 0
            note(w, p + 1, PyBytes_GET_SIZE(self.front) - 1, NULL, 0)
            self.last, self.verified = self.here[0], True
        elif w.stop_kind == KIND_INDEX:
            if PyBytes_GET_SIZE(self.token) == 0 or not same(p, size, self.token):
                return 0
            note(w, p, size, <const uint8_t*>PyBytes_AS_STRING(self.name_token), PyBytes_GET_SIZE(self.name_token))
            self.before, self.last, self.here = self.last, self.only[0], self.only
            self.verified = self.waiting = False
        elif w.stop_kind == KIND_ROUTING:
            if not self.verified or w.omit == NULL or PyBytes_GET_SIZE(self.bare) == 0 or not same(p, size, self.bare):
                return 0
            omit, w.omit = w.omit, NULL
            note(w, omit, w.stop_end - omit, NULL, 0)
        elif w.stop_kind == KIND_DOC:
            return self.document(w, p, size)
        else:
            return 0
        return 1

    cdef int document(self, Walker* w, const uint8_t* p, size_t size) except -1:
        """One that is as its client wrote it, or is so inside of the one object that it was put in."""
        cdef size_t front
        if not self.verified or self.nest is None or PyBytes_GET_SIZE(self.front) == 0:
            return 0
        front = PyBytes_GET_SIZE(self.nest)
        if front == 0:
            return memchr(p, c"~", size) == NULL and memchr(p, c"\\", size) == NULL
        if not begins(p, size, self.nest) or size < front + 3 or p[size - 2] != c"}" or memchr(p, c"\n", size) != NULL:
            return 0
        note(w, p, front, NULL, 0)
        note(w, w.stop_end - 1, 1, NULL, 0)
        return 1


cdef bint begins(const uint8_t* p, size_t size, bytes front) noexcept:
    cdef size_t wanted = PyBytes_GET_SIZE(front)
    return size > wanted and memcmp(p, PyBytes_AS_STRING(front), wanted) == 0


cdef bint same(const uint8_t* p, size_t size, bytes text) noexcept:
    return size == <size_t>PyBytes_GET_SIZE(text) and memcmp(p, PyBytes_AS_STRING(text), size) == 0


cdef int note(Walker* w, const uint8_t* at, size_t cut, const uint8_t* put, size_t put_size) except -1:
    if not edit(w, at, cut, put, put_size):
        fail(w, NO_MEMORY, w.base)
        raise MemoryError
    return 0


cdef class Pass(Body):
    """One body: ``Pass(table, state, bindings, resolver=None, *, max_depth=100)``."""

    def __cinit__(self, Table table not None, int state, Bindings bindings not None, resolver=None, *, int max_depth=100):
        self.take(table, bindings, resolver, state, max_depth)

    def feed(self, bytes data not None, bint last):
        """Read on; returns rewritten bytes, possibly fewer than fed. After a failure or a miss there are none."""
        if self.open(data, last):
            return b""
        self.run()
        return self.close(data, self.w.at if self.w.hold == NULL else self.w.hold, self.w.n_edits, self.w.grow)

    def __repr__(self):
        return f"<Pass {self.status.name} at {self.offset}>"


cdef class Alone:
    """Whole bodies under one state, with nobody to ask: ``Alone(table, state, bindings, *, max_depth=100, marks=0)``.

    A body goes through the same pass as any other, which fails at its first stop, and there is no word of why: whoever gets None
    lets a `Pass` with a resolver find out.
    """

    cdef Table table
    cdef Bindings bindings
    cdef int root
    cdef int max_depth
    cdef uint64_t marks

    def __cinit__(self, Table table not None, int state, Bindings bindings not None, *, int max_depth=100, int marks=0):
        cdef Body one = Body.__new__(Body)
        one.take(table, bindings, None, state, max_depth)  # or raise
        self.table = table
        self.bindings = bindings
        self.root = state
        self.max_depth = max_depth
        self.marks = marks

    def rewritten(self, bytes body not None):
        """The output; None for what is not understood, asks for anything, or has one of the marks."""
        cdef Body one = Body.__new__(Body)
        one.take(self.table, self.bindings, None, self.root, self.max_depth)
        one.open(body, True)
        one.run()
        if one.w.status != OK or one.w.marks & self.marks:
            return None
        return one.close(body, one.w.at if one.w.hold == NULL else one.w.hold, one.w.n_edits, one.w.grow)


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
        return assemble(w, body, w.at, w.n_edits, w.grow)
    finally:
        walker_give(w)


cdef bytes assemble(Walker* w, bytes data, const uint8_t* limit, size_t n_edits, ptrdiff_t grown):
    """The window up to ``limit`` with its edits carried out; ``data`` itself when that is the same."""
    cdef const uint8_t* p = w.base
    cdef const Edit* e = w.edits
    cdef const Edit* last = w.edits + n_edits
    cdef bytes out
    cdef uint8_t* to
    if n_edits == 0 and limit - p == PyBytes_GET_SIZE(data) and p == <const uint8_t*>PyBytes_AS_STRING(data):
        return data
    out = PyBytes_FromStringAndSize(NULL, (limit - p) + grown)
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
