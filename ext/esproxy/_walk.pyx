"""The machine: one strict pass over a JSON body under a rule table.

**States.** ``expect`` says which piece of grammar comes next; ``token`` says which token is under way when the window ended
inside one, NONE otherwise; ``frames`` are the open arrays and walked objects. Between two calls everything the machine
knows is in the `Walker`, so a body may be cut at any byte.

    FIRST_KEY, KEY ──"…"──▶ COLON ──:──▶ VALUE ──scalar──▶ AFTER ──,──▶ KEY | VALUE
                                          │  ▲               │
                                          └{ [ push a frame   └─ } ] pop it, AFTER again; with no frame left: the end

What is not interpreted (a document, an unknown answer's value, what a binding drops or hands out as a whole) is read by a
second, smaller machine, `skip`: the same grammar, one bit per open container, no rules.

**Invariants.**

* Every byte is looked at once. A token that is edited is *held* (``hold`` keeps it in the window), anything else may
  leave with the window it came in; so may the first part of a long string.
* A key of a walked object is held from the comma before it until it is known, because leaving it out takes the comma too.
* Edits are noted in the order of their places, and never inside of what `skip` reads.
* The machine calls nobody. Where the resolver has to be asked, `walk` returns STOP with the state already behind the
  token: the caller notes an edit or not, and calls `walk` again.
* Marks, counts and the verdict are functions of the bytes, not of the windows.

**Left out on purpose.** Duplicate keys where nothing is interpreted, and lone surrogate escapes in strings that are only
copied: the node reads the very same bytes, so they cannot mean one thing here and another there, and clients do send
documents with half an emoji. In keys of walked objects and in names that are edited both are refused.
"""

from libc.stdint cimport uint8_t

from esproxy._lex cimport (
    BAD_TEXT, CUT, FOUND, N_START, literal, number_end, number_is_whole, space_end, string_end,
)
from esproxy._memory cimport (
    DONE, E_AFTER, E_COLON, E_FIRST_KEY, E_FIRST_VALUE, E_KEY, E_VALUE, EMPTY, ENCODING, FAIL, GO_ON, MORE, NO_MEMORY,
    NOT_OPAQUE, SYNTAX, T_KEY, T_NONE, T_NUMBER, T_STRING, TRAILING, TRUNCATED, Frame, Walker, edit, fail,
)
from esproxy._rules cimport edit_name, edit_scalar, ensure, fill, know, no_value, open_array, open_object, pop, push, spare
from esproxy._skip cimport skip
from esproxy._table cimport OP_COPY, OP_DROP, OP_REFUSE, SPARES, Act, State


cdef inline int leave(Walker* w, const uint8_t* p, int expect, const State* state, int event) noexcept nogil:
    """Note where the machine stands and return the event."""
    w.at = p
    w.expect = expect
    w.state = state
    return event


cdef int stuck(Walker* w, const uint8_t* p, int expect, const State* state) noexcept nogil:
    """What p points to cannot go on: the window ends, or the body is wrong there."""
    if p < w.end:
        if w.depth == 0 and w.opaque == NOT_OPAQUE and expect == E_AFTER:
            return fail(w, TRAILING, p)
        return fail(w, ENCODING if p[0] >= 0x80 else SYNTAX, p)
    leave(w, p, expect, state, MORE)
    if not w.last:
        return MORE
    if w.depth == 0 and w.opaque == NOT_OPAQUE:
        if expect == E_AFTER:
            return DONE
        if expect == E_VALUE and w.token == T_NONE:
            return fail(w, EMPTY, p)
    return fail(w, TRUNCATED, p)


cdef int cut_string(Walker* w, const uint8_t* p, int verdict, int token, int flags, int expect, const State* s) noexcept nogil:
    """The string does not end in this window, or is none."""
    if verdict != CUT:
        return fail(w, ENCODING if verdict == BAD_TEXT else SYNTAX, p)
    if w.last:
        return fail(w, TRUNCATED, w.end)
    w.token = token
    w.flags = flags
    return leave(w, p, expect, s, MORE)


cdef int cut_number(Walker* w, const uint8_t* p, int phase) noexcept nogil:
    """OK when the number ends at p, MORE when it may go on in the next window, FAIL."""
    if p < w.end:
        if number_is_whole(phase):
            return GO_ON
        return fail(w, ENCODING if p[0] >= 0x80 else SYNTAX, p)
    if not w.last:
        w.token = T_NUMBER
        w.phase = phase
        return MORE
    return GO_ON if number_is_whole(phase) else fail(w, TRUNCATED, p)




cdef int walk(Walker* w) noexcept nogil:
    """Read the window as far as it goes: MORE, STOP, DONE or FAIL."""
    cdef const uint8_t* p = w.at
    cdef const uint8_t* end = w.end
    cdef const uint8_t* start = w.start
    cdef const State* s = w.state
    cdef const Act* act
    cdef Frame* f
    cdef int expect
    cdef int token
    cdef int flags = w.flags
    cdef int phase = w.phase
    cdef int verdict
    cdef int event
    cdef int size
    cdef uint8_t c
    if w.opaque != NOT_OPAQUE:
        event = skip(w)
        if event != GO_ON:
            return event
        p = w.at
    expect = w.expect
    token = w.token
    w.token = T_NONE
    f = &w.frames[w.depth]
    while True:
        # --- the key of a member
        if expect <= E_KEY:
            if token == T_NONE:
                p = space_end(p, end)
                if p[0] == c'"':
                    start = p
                    p += 1
                    flags = 0
                elif p[0] == c'}' and expect == E_FIRST_KEY:
                    expect = E_AFTER
                else:
                    return stuck(w, p, expect, s)
            if expect != E_AFTER:
                token = T_NONE
                p = string_end(p, end, &verdict, &flags)
                if verdict != FOUND:
                    w.start = start
                    if w.hold == NULL:
                        w.hold = start
                    return cut_string(w, p, verdict, T_KEY, flags, expect, s)
                event = know(w, f, start, p, flags)
                p += 1
                s = w.state
                expect = E_COLON
                if event != GO_ON:
                    return leave(w, p, expect, s, event)
        # --- its colon
        if expect == E_COLON:
            p = space_end(p, end)
            if p[0] != c':':
                return stuck(w, p, expect, s)
            p += 1
            expect = E_VALUE
        # --- a value
        if expect <= E_VALUE:
            act = &w.acts[s.kind]
            if token == T_NONE:
                p = space_end(p, end)
                c = p[0]
                start = p
                if c != c']':
                    w.marks |= s.mark
                if (act.op == OP_REFUSE or act.op == OP_DROP) and p < end and not (c == c']' and expect == E_FIRST_VALUE):
                    w.state = s
                    event = no_value(w, s, p)
                    c = 0
                else:
                    event = GO_ON
            else:
                c = c'"' if token == T_STRING else c'0'
                event = GO_ON
            if c == c'"':
                if token == T_NONE:
                    p += 1
                    flags = 0
                token = T_NONE
                p = string_end(p, end, &verdict, &flags)
                if verdict != FOUND:
                    if act.op != OP_COPY:
                        w.start = start
                        if w.omit == NULL:
                            w.hold = start
                    return cut_string(w, p, verdict, T_STRING, flags, expect, s)
                p += 1
                expect = E_AFTER
                if act.op != OP_COPY:
                    w.hold = NULL
                    w.state = s
                    event = edit_name(w, s.kind, act, start, p, flags)
                    if event != GO_ON:
                        return leave(w, p, expect, s, event)
            elif c == c'{':
                if w.slot != NULL and w.slot.role & SPARES:
                    spare(w)
                if act.op == OP_COPY and s.walked:
                    event = push(w, s, False, p)
                else:
                    w.state = s
                    event = open_object(w, s, p)
                if event == GO_ON:
                    p += 1
                    f = &w.frames[w.depth]
                    expect = E_FIRST_KEY
                    continue
            elif c == c'[':
                if act.op == OP_COPY and not s.opaque:
                    event = push(w, s.items, True, p)
                else:
                    w.state = s
                    event = open_array(w, s, p)
                if event == GO_ON:
                    p += 1
                    f = &w.frames[w.depth]
                    s = f.state
                    expect = E_FIRST_VALUE
                    continue
            elif c == c'-' or 0x30 <= c <= 0x39:
                if token == T_NONE:
                    phase = N_START
                token = T_NONE
                p = number_end(p, &phase)
                event = cut_number(w, p, phase)
                if event == MORE and act.op != OP_COPY:
                    w.start = start
                    if w.omit == NULL:
                        w.hold = start
                if event != GO_ON:
                    return leave(w, p, expect, s, event)
            elif c == c't' or c == c'f' or c == c'n':
                size = literal(p, end)
                if size <= 0:
                    if size < 0:
                        return fail(w, SYNTAX, p - size - 1)
                    return fail(w, TRUNCATED, end) if w.last else leave(w, p, expect, s, MORE)
                p += size
            elif c == c']' and expect == E_FIRST_VALUE:
                event = fill(w, f, p)
                expect = E_AFTER
            elif event == GO_ON:
                return stuck(w, p, expect, s)
            if event == DONE:  # what was opened is not interpreted
                w.expect = E_AFTER
                event = skip(w)
                if event != GO_ON:
                    return event
                p = w.at
                expect = E_AFTER
            elif event != GO_ON:
                return event
            elif expect != E_AFTER:  # a number or a literal
                expect = E_AFTER
                if act.op != OP_COPY:
                    w.hold = NULL
                    w.state = s
                    event = edit_scalar(w, act, start, p)
                    if event != GO_ON:
                        return leave(w, p, expect, s, event)
        # --- what comes behind a value
        while True:
            p = space_end(p, end)
            c = p[0]
            if w.depth == 0:
                return stuck(w, p, expect, s)
            if c == c',':
                if f.array:
                    s = f.state
                    expect = E_VALUE
                else:
                    expect = E_KEY
                    if f.written:
                        w.hold = p
                    elif not edit(w, p, 1, NULL, 0):
                        return fail(w, NO_MEMORY, p)
                p += 1
                break
            if c != (c']' if f.array else c'}'):
                return stuck(w, p, expect, s)
            if not f.array and f.state.ensured_bits & ~(f.seen & ~f.dropped):
                event = ensure(w, f, p)
                if event != GO_ON:
                    return event
            p += 1
            if f.wrap != NULL and not edit(w, p, 0, f.wrap.b, f.wrap.b_size):
                return fail(w, NO_MEMORY, p)
            pop(w, f)
            f = &w.frames[w.depth]
