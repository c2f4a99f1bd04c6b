"""Stops that are answered inside of the machine, by what the resolver has told before: names, ids, routings and documents of hits,
names and ids of a bulk's action lines.

What is told is a `Told` of the walker (_memory.pxd), which belongs to the `Hits` that is the resolver (_hits.pyx). It is filled
before the machine goes on and read back before anybody looks, so here and there the state is the same; what is not answered here
is a stop, and asked there on that state.

Invariants

* What is set with ``front`` belongs to the one target that is ``here``, or will be once an index has been named, if there is but
  one that may be.
* A document or a routing passes only behind an id that began with that scope, since the last name of an index (``verified``).
* Whoever sets ``name``, ``before`` and ``behind`` keeps them until the edits have been carried out, which point there.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

from esproxy._memory cimport FAIL, GO_ON, NO_MEMORY, STOP, Told, Walker, edit, fail
from esproxy._table cimport KIND_DOC, KIND_ID, KIND_INDEX, KIND_ROUTING


cdef inline bint begins(const uint8_t* p, size_t size, const uint8_t* front, size_t wanted) noexcept nogil:
    return size > wanted and memcmp(p, front, wanted) == 0


cdef inline int cut(Walker* w, const uint8_t* at, size_t size, const uint8_t* put, size_t put_size) noexcept nogil:
    return GO_ON if edit(w, at, size, put, put_size) else fail(w, NO_MEMORY, at)


cdef bint is_low_escaped(const uint8_t* p, size_t size) noexcept nogil:
    """Does it look as if one of the first 256 characters were written as ``\\u00…``?"""
    cdef const uint8_t* end = p + size
    while True:
        p = <const uint8_t*>memchr(p, c"\\", end - p)
        if p == NULL:
            return False
        if end - p > 3 and p[1] == c"u" and p[2] == c"0" and p[3] == c"0":
            return True
        p += 1


cdef int document(Walker* w, Told* t, const uint8_t* p, size_t size) noexcept nogil:
    """One that is as its client wrote it, or is so inside of the one object that it was put in."""
    if not t.verified or not t.documents or t.front_size == 0:
        return STOP
    if t.nest_size == 0:
        return GO_ON if memchr(p, c"~", size) == NULL and not is_low_escaped(p, size) else STOP
    if not begins(p, size, t.nest, t.nest_size) or size < t.nest_size + 3 or p[size - 2] != c"}":
        return STOP
    if memchr(p, c"\n", size) != NULL:
        return STOP
    if cut(w, p, t.nest_size, NULL, 0) == FAIL:
        return FAIL
    return cut(w, w.stop_end - 1, 1, NULL, 0)


cdef int written(Walker* w, Told* t, const uint8_t* p, size_t size) noexcept nogil:
    """The id of a record: the scope goes in front of it, and behind it what its line does not say."""
    if p[0] != c'"' or size <= 2 or size > t.most or memchr(p, c"\\", size) != NULL:
        return STOP
    t.ids += 1
    if cut(w, p, 1, t.before, t.before_size) == FAIL:
        return FAIL
    return cut(w, w.stop_end, 0, t.behind, t.behind_size)


cdef int answer(Walker* w) noexcept nogil:
    """Answer the stop by edits: GO_ON. STOP: it has to be asked. FAIL."""
    cdef Told* t = w.told
    cdef const uint8_t* p = w.stop_start
    cdef size_t size = w.stop_end - p
    if w.stop_kind == KIND_ID:
        if t.most:
            return written(w, t, p, size)
        if t.front_size == 0 or not t.here or not begins(p, size, t.front, t.front_size):
            return STOP
        t.verified = t.met = True
        return cut(w, p + 1, t.front_size - 1, NULL, 0)
    if w.stop_kind == KIND_INDEX:
        if t.token_size == 0 or size != t.token_size or memcmp(p, t.token, size) != 0:
            return STOP
        t.named = 1 if t.named == 0 else 2
        t.here = True
        t.verified = t.met = False
        return cut(w, p, size, t.name, t.name_size)
    if w.stop_kind == KIND_ROUTING:
        if not t.verified or w.omit == NULL or t.bare_size == 0 or size != t.bare_size or memcmp(p, t.bare, size) != 0:
            return STOP
        p = w.omit
        w.omit = NULL
        return cut(w, p, w.stop_end - p, NULL, 0)
    if w.stop_kind == KIND_DOC:
        return document(w, t, p, size)
    return STOP
