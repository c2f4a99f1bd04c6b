"""What is done at a kind; see _rules.pyx."""

from libc.stdint cimport uint8_t, uint64_t

from esproxy._memory cimport GO_ON, STOP, Frame, Walker
from esproxy._table cimport OP_DROP, Act, Slot, State, find

cdef int know_slowly(Walker* w, Frame* f, const uint8_t* start, const uint8_t* quote, int flags) noexcept nogil
cdef int edit_name(Walker* w, int kind, const Act* act, const uint8_t* start, const uint8_t* end, int flags) noexcept nogil
cdef int edit_scalar(Walker* w, const Act* act, const uint8_t* start, const uint8_t* end) noexcept nogil
cdef int open_object(Walker* w, const State* s, const uint8_t* p) noexcept nogil
cdef int open_array(Walker* w, const State* s, const uint8_t* p) noexcept nogil
cdef int no_value(Walker* w, const State* s, const uint8_t* p) noexcept nogil
cdef int push(Walker* w, const State* state, bint array, const uint8_t* at) noexcept nogil
cdef int fill(Walker* w, Frame* f, const uint8_t* p) noexcept nogil
cdef void spare(Walker* w) noexcept nogil
cdef int ensure(Walker* w, Frame* f, const uint8_t* p) noexcept nogil
cdef void pop(Walker* w, Frame* f) noexcept nogil


cdef inline int ask(Walker* w, const uint8_t* start, const uint8_t* end, int kind, int op) noexcept nogil:
    w.stop_start = start
    w.stop_end = end
    w.stop_kind = kind
    w.stop_op = op
    return STOP


cdef inline int know(Walker* w, Frame* f, const uint8_t* start, const uint8_t* quote, int flags) noexcept nogil:
    """Find the state under the key that stands at start … quote; sets ``w.state``."""
    cdef const Slot* slot
    cdef const State* state
    if flags == 0:
        slot = find(&f.state.keys, start + 1, quote - start - 1)
        if slot != NULL and slot.index < 64 and not f.seen >> slot.index & 1:
            state = &w.states[slot.target]
            if w.acts[state.kind].op != OP_DROP:
                f.seen |= <uint64_t>1 << slot.index
                f.written = True
                w.slot = slot
                w.state = state
                w.hold = NULL
                return GO_ON
    return know_slowly(w, f, start, quote, flags)
