"""What is done at a kind; see _rules.pyx."""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free

from esproxy._memory cimport DEPTH, GO_ON, NO_MEMORY, STOP, Frame, Walker, fail, more_frames
from esproxy._table cimport OP_DROP, OP_OMIT, Act, Slot, State, find
from esproxy._told cimport answer

cdef int know_slowly(Walker* w, Frame* f, const uint8_t* start, const uint8_t* quote, int flags) noexcept nogil
cdef int know_other(
    Walker* w, Frame* f, const uint8_t* start, const uint8_t* quote, int flags, const uint8_t* name, size_t size
) noexcept nogil
cdef int edit_name(Walker* w, int kind, const Act* act, const uint8_t* start, const uint8_t* end, int flags) noexcept nogil
cdef int edit_scalar(Walker* w, const Act* act, const uint8_t* start, const uint8_t* end) noexcept nogil
cdef int open_object(Walker* w, const State* s, const uint8_t* p) noexcept nogil
cdef int open_array(Walker* w, const State* s, const uint8_t* p) noexcept nogil
cdef int no_value(Walker* w, const State* s, const uint8_t* p) noexcept nogil
cdef int fill(Walker* w, Frame* f, const uint8_t* p) noexcept nogil
cdef void spare(Walker* w) noexcept nogil
cdef int ensure(Walker* w, Frame* f, const uint8_t* p) noexcept nogil


cdef inline int ask(Walker* w, const uint8_t* start, const uint8_t* end, int kind, int op) noexcept nogil:
    w.stop_start = start
    w.stop_end = end
    w.stop_kind = kind
    w.stop_op = op
    return STOP if w.told == NULL else answer(w)


cdef inline int know(Walker* w, Frame* f, const uint8_t* start, const uint8_t* quote, int flags) noexcept nogil:
    """Find the state under the key that stands at start … quote; sets ``w.state``."""
    cdef const Slot* slot
    cdef const State* state
    if flags == 0:
        slot = find(&f.state.keys, start + 1, quote - start - 1)
        if slot == NULL:
            return know_other(w, f, start, quote, flags, start + 1, quote - start - 1)
        if slot.index < 64 and not f.seen >> slot.index & 1:
            state = slot.state
            if w.acts[state.kind].op != OP_DROP and w.acts[state.kind].op != OP_OMIT:
                f.seen |= <uint64_t>1 << slot.index
                f.written = True
                w.slot = slot
                w.state = state
                w.hold = NULL
                return GO_ON
    return know_slowly(w, f, start, quote, flags)


cdef inline int push(Walker* w, const State* state, bint array, const uint8_t* at) noexcept nogil:
    cdef Frame* f
    if w.depth >= w.max_depth:
        return fail(w, DEPTH, at)
    if w.depth + 1 >= w.frames_room and not more_frames(w):
        return fail(w, NO_MEMORY, at)
    w.depth += 1
    f = &w.frames[w.depth]
    f.state = state
    f.under = w.slot
    f.wrap = NULL
    f.seen = 0
    f.dropped = 0
    f.set = NULL
    f.first = w.n_hashes
    f.others = 0
    f.array = array
    f.written = False
    f.spared = False
    return GO_ON


cdef inline void pop(Walker* w, Frame* f) noexcept nogil:
    if f.set != NULL:
        free(f.set)
        f.set = NULL
    w.n_hashes = f.first
    w.slot = f.under
    w.key = NULL
    w.key_size = 0
    w.depth -= 1
    if w.depth == 0:
        w.root_seen = f.seen
