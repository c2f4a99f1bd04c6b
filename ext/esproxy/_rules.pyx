"""What is done at a kind: the rules' side of the machine, called with whole tokens.

Names and scalars are edited (`edit_name`, `edit_scalar`), keys are found and judged (`know`), containers are entered or
handed to `skip` (`open_object`, `open_array`). Every function returns an event: GO_ON, STOP when the resolver is to be asked,
FAIL with the status noted. `know` is inline in _rules.pxd for the common case, a key known by name and seen for the first time;
`know_slowly` is right for every key, `know_other` for those that no name is known of.

**Null** is copied where a name is expected: it says what an absent key says, and no table can make a client write a key.
Where an object is wrapped or handed out, null is as much a stop as any other value.
"""

import os

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcmp

from esproxy._lex cimport ESCAPED, LONE, decode, es_fold, es_is_name, es_load64
from esproxy._memory cimport (
    COPYING, DEPTH, DONE, DROPPING, DUPLICATE, E_VALUE, ENCODING, FAIL, GO_ON, NO_MEMORY, OBJECT, OK, REFUSED, SPANNING, STOP,
    UNKNOWN_KEY, Frame, Walker, edit, fail, more_frames, more_scratch, remember,
)
from esproxy._table cimport (
    ENSURED, KIND_LEFT_OUT, KIND_OPAQUE, KIND_SOURCE, KIND_TAGGED, KIND_UNKNOWN, MARK_META_FIELD, OP_COPY, OP_DROP,
    OP_OMIT, OP_PREFIX, OP_REFUSE, OP_STOP, OP_STRIP, OP_WATCH, OP_WRAP, Act, Slot, State, ends, find,
)

cdef uint64_t SECRET[2]
SECRET[0] = int.from_bytes(os.urandom(8), "little") | 1
SECRET[1] = int.from_bytes(os.urandom(8), "little") | 1

cdef State LEFT_OUT  # the state of a value whose key is left out
LEFT_OUT.kind = KIND_LEFT_OUT
LEFT_OUT.reason = -1

cdef const uint8_t* QUOTE = b'"'


# --- leaves ----------------------------------------------------------------------------------------


cdef uint64_t hash_name(const uint8_t* name, size_t size) noexcept nogil:
    cdef uint64_t head
    cdef uint64_t tail
    cdef uint64_t hash = SECRET[0]
    cdef size_t i = 0
    while size - i > 16:
        hash = es_fold(es_load64(name + i) ^ SECRET[1], es_load64(name + i + 8) ^ hash)
        i += 16
    ends(name + i, size - i, &head, &tail)
    # the size has a factor of its own: mixed into the tail it would meet a digit, and k12220 would be k1220
    return es_fold(es_fold(head ^ SECRET[1], tail ^ hash), SECRET[1] ^ <uint64_t>size << 8)


cdef inline bint is_plain(const uint8_t* name, const uint8_t* quote, const uint8_t* end) noexcept nogil:
    """What a name may consist of to be prefixed without a further look: [a-z0-9][a-z0-9_.-]*"""
    if name >= quote or not (0x61 <= name[0] <= 0x7A or 0x30 <= name[0] <= 0x39):
        return False
    return es_is_name(name, quote, end)


cdef inline bint is_digits(const uint8_t* text, const uint8_t* end) noexcept nogil:
    while text < end:
        if not 0x30 <= text[0] <= 0x39:
            return False
        text += 1
    return True


cdef int refuse(Walker* w, int reason, const Act* act, const uint8_t* at) noexcept nogil:
    w.reason = reason
    w.refusal = act
    return fail(w, REFUSED, at)


# --- names -----------------------------------------------------------------------------------------


cdef int edit_name(Walker* w, int kind, const Act* act, const uint8_t* start, const uint8_t* end, int flags) noexcept nogil:
    """Do at a string (quotes included) what its kind is bound to. GO_ON, STOP or FAIL."""
    cdef const uint8_t* name = start + 1
    cdef const uint8_t* quote = end - 1
    cdef size_t size = quote - name
    if flags & LONE:
        return fail(w, ENCODING, start)
    if act.op == OP_PREFIX:
        if not is_plain(name, quote, w.end):
            return ask(w, start, end, kind, OP_PREFIX)
        return GO_ON if edit(w, name, 0, act.a, act.a_size) else fail(w, NO_MEMORY, start)
    if act.op == OP_STRIP:
        if size < act.a_size or memcmp(name, act.a, act.a_size) != 0:
            return ask(w, start, end, kind, OP_STRIP)
        return GO_ON if edit(w, name, act.a_size, NULL, 0) else fail(w, NO_MEMORY, start)
    if act.op == OP_WATCH:
        if flags & ESCAPED:
            if not more_scratch(w, size):
                return fail(w, NO_MEMORY, start)
            size = decode(name, quote, w.scratch)
            name = w.scratch
        if size == act.a_size and memcmp(name, act.a, size) == 0:
            w.marks |= MARK_META_FIELD
        return GO_ON
    if act.op == OP_REFUSE:
        return refuse(w, -1, act, start)
    return ask(w, start, end, kind, act.op)


cdef int edit_scalar(Walker* w, const Act* act, const uint8_t* start, const uint8_t* end) noexcept nogil:
    """Do at a number or a literal what its kind is bound to: a name may be written as either."""
    cdef int kind = w.state.kind
    cdef bint null = start[0] == c'n'
    if act.op == OP_WRAP or w.state.spans:
        return ask(w, start, end, kind, act.op)
    if null:
        w.omit = NULL
    if null or act.op == OP_WATCH:
        return GO_ON
    if kind == KIND_SOURCE and (start[0] == c't' or start[0] == c'f'):
        return GO_ON
    if act.op == OP_PREFIX:
        # 5.0, -5 and 1e3 are names that depend on who reads them: text, or a number made text again
        if start[0] != c't' and start[0] != c'f' and not is_digits(start, end):
            return ask(w, start, end, kind, OP_PREFIX)
        if edit(w, start, 0, act.quoted, act.quoted_size) and edit(w, end, 0, QUOTE, 1):
            return GO_ON
        return fail(w, NO_MEMORY, start)
    if act.op == OP_STRIP:
        if <size_t>(end - start) < act.a_size or memcmp(start, act.a, act.a_size) != 0:
            return ask(w, start, end, kind, OP_STRIP)
        if edit(w, start, act.a_size, QUOTE, 1) and edit(w, end, 0, QUOTE, 1):
            return GO_ON
        return fail(w, NO_MEMORY, start)
    return ask(w, start, end, kind, act.op)


# --- keys ------------------------------------------------------------------------------------------


cdef int know_slowly(Walker* w, Frame* f, const uint8_t* start, const uint8_t* quote, int flags) noexcept nogil:
    """The rest of keys: escaped, not known by name, edited, left out, refused."""
    cdef const uint8_t* name = start + 1
    cdef size_t size = quote - name
    cdef const Slot* slot
    cdef int status
    w.slot = NULL
    w.key = name
    w.key_size = size
    if flags & LONE:
        return fail(w, ENCODING, start)
    if flags & ESCAPED:
        if not more_scratch(w, size):
            return fail(w, NO_MEMORY, start)
        size = decode(name, quote, w.scratch)
        name = w.scratch
    slot = find(&f.state.keys, name, size)
    if slot == NULL:
        return know_other(w, f, start, quote, flags, name, size)
    if slot.index < 64:
        if f.seen >> slot.index & 1:
            return fail(w, DUPLICATE, start)
        f.seen |= <uint64_t>1 << slot.index
    else:
        status = remember(w, f, hash_name(name, size))
        if status != OK:
            return fail(w, status, start)
    w.slot = slot
    w.state = slot.state
    if w.acts[w.state.kind].op == OP_DROP:
        if slot.index < 64:
            f.dropped |= <uint64_t>1 << slot.index
        return leave_out(w, f, start)
    if w.acts[w.state.kind].op == OP_OMIT and f.written:
        w.omit = w.hold  # the comma before it; held on
        return GO_ON
    f.written = True
    w.hold = NULL
    return GO_ON


cdef int know_other(
    Walker* w, Frame* f, const uint8_t* start, const uint8_t* quote, int flags, const uint8_t* name, size_t size
) noexcept nogil:
    """A key that is not known by name; ``name`` is what it means."""
    cdef const Act* act
    cdef int event = GO_ON
    cdef int kind
    cdef int status
    w.slot = NULL
    w.key = start + 1
    w.key_size = quote - start - 1
    status = remember(w, f, hash_name(name, size))
    if status != OK:
        return fail(w, status, start)
    if f.state.other < 0:
        return fail(w, UNKNOWN_KEY, start)
    w.state = &w.states[f.state.other]
    kind = f.state.other_kind
    act = &w.acts[kind]
    if act.op == OP_DROP or w.acts[w.state.kind].op == OP_DROP:
        return leave_out(w, f, start)
    if kind == KIND_UNKNOWN:
        w.unknown += 1
    if kind == KIND_TAGGED:
        event = untag(w, f, act, start, quote)
    elif act.op != OP_COPY:
        event = edit_name(w, kind, act, start, quote + 1, flags)
    f.written = True
    w.hold = NULL
    return event


cdef int leave_out(Walker* w, Frame* f, const uint8_t* start) noexcept nogil:
    """Leave the member out that begins at start, with the comma before it; the first one's comma comes behind it."""
    w.drop = start if w.hold == NULL else w.hold
    w.hold = NULL
    w.state = &LEFT_OUT
    return GO_ON


cdef void keep(Walker* w) noexcept nogil:
    """What begins is no name: its member stays."""
    if w.omit != NULL:
        w.omit = w.hold = NULL


cdef int untag(Walker* w, Frame* f, const Act* act, const uint8_t* start, const uint8_t* quote) noexcept nogil:
    """``type#name``: the type picks the state. Nodes write a type as it is, so an escape before the # makes it no type."""
    cdef const uint8_t* name = start + 1
    cdef const uint8_t* sharp = <const uint8_t*>memchr(name, c'#', quote - name)
    cdef const Slot* slot
    if sharp == NULL:
        return GO_ON
    slot = find(&f.state.tags, name, sharp - name)
    if slot == NULL:
        return GO_ON
    w.state = slot.state
    if act.op == OP_STRIP:
        return GO_ON if edit(w, name, sharp + 1 - name, NULL, 0) else fail(w, NO_MEMORY, start)
    if act.op == OP_COPY:
        return GO_ON
    return ask(w, start, quote + 1, KIND_TAGGED, act.op)


# --- containers ------------------------------------------------------------------------------------


cdef int open_object(Walker* w, const State* s, const uint8_t* p) noexcept nogil:
    """p is at a ``{``. GO_ON: a frame was pushed; DONE: `skip` reads it; FAIL."""
    cdef const Act* act = &w.acts[s.kind]
    cdef const Act* wrap = NULL
    cdef int event
    keep(w)
    if act.op == OP_STOP and s.spans:
        return span(w, p)
    if not s.walked and not s.opaque:
        return fail(w, OBJECT, p)
    if act.op == OP_WRAP:
        wrap = act
        if not edit(w, p, 0, act.a, act.a_size):
            return fail(w, NO_MEMORY, p)
    if s.walked:
        event = push(w, s, False, p)
        if event == GO_ON:
            w.frames[w.depth].wrap = wrap
        return event
    return enter_opaque(w, COPYING, wrap, p)


cdef int open_array(Walker* w, const State* s, const uint8_t* p) noexcept nogil:
    """p is at a ``[``. As `open_object`; arrays are transparent, but what may be anything is one thing to a STOP."""
    cdef const Act* act = &w.acts[s.kind]
    keep(w)
    if s.opaque:
        if act.op == OP_STOP and s.kind == KIND_OPAQUE:
            return span(w, p)
        if act.op == OP_COPY:
            return enter_opaque(w, COPYING, NULL, p)
    return push(w, s.items, True, p)


cdef int fill(Walker* w, Frame* f, const uint8_t* p) noexcept nogil:
    """p is at the ``]`` of an empty array. Under an ensured key it would say nothing: what is ensured stands in it."""
    cdef const Act* act
    if f.under == NULL or not f.under.role & ENSURED:
        return GO_ON
    act = &w.acts[f.under.state.kind]
    if act.absent_size == 0:
        return GO_ON
    return GO_ON if edit(w, p, 0, act.absent, act.absent_size) else fail(w, NO_MEMORY, p)


cdef void spare(Walker* w) noexcept nogil:
    """An object begins under a key that makes ensuring others unnecessary."""
    cdef int i = w.depth
    while w.frames[i].array:
        i -= 1
    w.frames[i].spared = True


cdef int enter_opaque(Walker* w, int how, const Act* wrap, const uint8_t* p) noexcept nogil:
    w.opaque = how
    w.opaque_wrap = wrap
    w.opaque_expect = E_VALUE
    w.level = 0
    w.at = p
    return DONE


cdef int span(Walker* w, const uint8_t* p) noexcept nogil:
    w.hold = p
    return enter_opaque(w, SPANNING, NULL, p)


cdef int no_value(Walker* w, const State* s, const uint8_t* p) noexcept nogil:
    """A value that is refused or left out. DONE: `skip` reads it; FAIL."""
    cdef const Act* act = &w.acts[s.kind]
    if act.op == OP_REFUSE or w.drop == NULL:  # what has no key, the body itself, cannot be left out
        return refuse(w, s.reason, act, p)
    return enter_opaque(w, DROPPING, NULL, p)


cdef int ensure(Walker* w, Frame* f, const uint8_t* p) noexcept nogil:
    """p is at the ``}`` of an object: put the keys there that it has to have and has not."""
    cdef uint64_t missing = 0 if f.spared else f.state.ensured_bits & ~(f.seen & ~f.dropped)
    cdef int i = 0
    cdef const Act* act
    cdef size_t comma
    while missing:
        if missing & 1:
            act = &w.acts[f.state.ensured[i].kind]
            if act.absent_size:
                comma = 0 if f.written else 1
                if not edit(w, p, 0, f.state.ensured[i].text + comma, f.state.ensured[i].size - comma):
                    return fail(w, NO_MEMORY, p)
                if not edit(w, p, 0, act.absent, act.absent_size):
                    return fail(w, NO_MEMORY, p)
                f.written = True
        missing >>= 1
        i += 1
    return GO_ON
