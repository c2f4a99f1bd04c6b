"""The second machine: one value of which nothing is interpreted, checked by the grammar alone.

It has the grammar of `walk` and none of its rules: no state, no key is looked up, no edit is made inside. What it remembers
is ``level``, the number of containers open in the value, and a bit for each, set for objects. ``opaque`` says what the value
is read for:

    COPYING    it stands as it is; the second half of a WRAP is put behind it
    SPANNING   it is held as a whole and then handed to the resolver
    DROPPING   it is left out, with its key, from ``drop`` on; scalars come here too

The value begins with ``opaque_expect`` VALUE and level 0, and ends where level is 0 again behind a value.
"""

from libc.stdint cimport uint8_t, uint64_t

from esproxy._lex cimport BAD_TEXT, CUT, FOUND, N_START, literal, number_end, number_is_whole, space_end, string_end
from esproxy._memory cimport (
    COPYING, DEPTH, DROPPING, E_AFTER, E_COLON, E_FIRST_KEY, E_FIRST_VALUE, E_KEY, E_VALUE, ENCODING, FAIL, GO_ON, MORE,
    NO_MEMORY, NOT_OPAQUE, SPANNING, SYNTAX, T_KEY, T_NONE, T_NUMBER, T_STRING, TRUNCATED, Walker, edit, fail,
)
from esproxy._rules cimport ask
from esproxy._table cimport OP_STOP


cdef int suspend(Walker* w, const uint8_t* p, int expect, int level, int token) noexcept nogil:
    """The window ends at p, or inside the token that goes on there."""
    if w.last:
        return fail(w, TRUNCATED, w.end)
    w.at = p
    w.opaque_expect = expect
    w.level = level
    w.token = token
    return MORE


cdef int wrong(Walker* w, const uint8_t* p, int expect, int level) noexcept nogil:
    """What p points to cannot go on: the window ends, or the body is wrong there."""
    if p >= w.end:
        return suspend(w, p, expect, level, T_NONE)
    return fail(w, ENCODING if p[0] >= 0x80 else SYNTAX, p)


cdef int finish(Walker* w, const uint8_t* p) noexcept nogil:
    """The value ends before p."""
    cdef int how = w.opaque
    cdef const uint8_t* start
    w.opaque = NOT_OPAQUE
    w.at = p
    if how == SPANNING:
        start = w.hold
        w.hold = NULL
        return ask(w, start, p, w.state.kind, OP_STOP)
    if how == DROPPING:
        start = w.drop
        w.drop = NULL
        return GO_ON if edit(w, start, p - start, NULL, 0) else fail(w, NO_MEMORY, p)
    if w.opaque_wrap != NULL and not edit(w, p, 0, w.opaque_wrap.b, w.opaque_wrap.b_size):
        return fail(w, NO_MEMORY, p)
    return GO_ON


cdef int skip(Walker* w) noexcept nogil:
    """Read on in the value. GO_ON: it has ended before ``at``; STOP: so it has and the resolver is asked; MORE; FAIL."""
    cdef const uint8_t* p = w.at
    cdef const uint8_t* end = w.end
    cdef int expect = w.opaque_expect
    cdef int token = w.token
    cdef int level = w.level
    cdef int room = w.max_depth - w.depth
    cdef int flags = w.flags
    cdef int phase = w.phase
    cdef int verdict
    cdef int size
    cdef bint in_object = level > 0 and w.objects[level >> 6] >> (level & 63) & 1
    cdef uint8_t c
    w.token = T_NONE
    while True:
        if expect <= E_KEY:
            if token == T_NONE:
                p = space_end(p, end)
                if p[0] == c'"':
                    p += 1
                elif p[0] == c'}' and expect == E_FIRST_KEY:
                    expect = E_AFTER
                else:
                    return wrong(w, p, expect, level)
            if expect != E_AFTER:
                token = T_NONE
                p = string_end(p, end, &verdict, &flags)
                if verdict != FOUND:
                    if verdict == CUT:
                        return suspend(w, p, expect, level, T_KEY)
                    return fail(w, ENCODING if verdict == BAD_TEXT else SYNTAX, p)
                p += 1
                expect = E_COLON
        if expect == E_COLON:
            p = space_end(p, end)
            if p[0] != c':':
                return wrong(w, p, expect, level)
            p += 1
            expect = E_VALUE
        if expect <= E_VALUE:
            if token == T_NONE:
                p = space_end(p, end)
                c = p[0]
            else:
                c = c'"' if token == T_STRING else c'0'
            if c == c'"':
                if token == T_NONE:
                    p += 1
                token = T_NONE
                p = string_end(p, end, &verdict, &flags)
                if verdict != FOUND:
                    if verdict == CUT:
                        return suspend(w, p, expect, level, T_STRING)
                    return fail(w, ENCODING if verdict == BAD_TEXT else SYNTAX, p)
                p += 1
            elif c == c'{' or c == c'[':
                if level >= room:
                    return fail(w, DEPTH, p)
                level += 1
                p += 1
                in_object = c == c'{'
                if in_object:
                    w.objects[level >> 6] |= <uint64_t>1 << (level & 63)
                    expect = E_FIRST_KEY
                else:
                    w.objects[level >> 6] &= ~(<uint64_t>1 << (level & 63))
                    expect = E_FIRST_VALUE
                continue
            elif c == c'-' or 0x30 <= c <= 0x39:
                if token == T_NONE:
                    phase = N_START
                token = T_NONE
                p = number_end(p, &phase)
                if p >= end and not w.last:
                    w.phase = phase
                    return suspend(w, p, expect, level, T_NUMBER)
                if not number_is_whole(phase):
                    return wrong(w, p, expect, level)
            elif c == c't' or c == c'f' or c == c'n':
                size = literal(p, end)
                if size == 0:
                    return suspend(w, p, expect, level, T_NONE)
                if size < 0:
                    return fail(w, SYNTAX, p - size - 1)
                p += size
            elif c != c']' or expect != E_FIRST_VALUE:
                return wrong(w, p, expect, level)
            expect = E_AFTER
        while True:
            if level == 0:
                return finish(w, p)
            p = space_end(p, end)
            c = p[0]
            if c == c',':
                expect = E_KEY if in_object else E_VALUE
                p += 1
                break
            if c != (c'}' if in_object else c']'):
                return wrong(w, p, E_AFTER, level)
            p += 1
            level -= 1
            in_object = level > 0 and w.objects[level >> 6] >> (level & 63) & 1
