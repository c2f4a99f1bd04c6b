"""The shape of rule tables and bindings in memory; see _table.pyx."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from esproxy._lex cimport es_load32, es_load64

cdef enum:
    KINDS_MAX = 32
    KIND_LEFT_OUT = 31  # no kind of the API: the value of a key that a binding drops

# The numbers of esproxy/api/kinds.py; tests/core/test_table.py compares them.
cdef enum:
    KIND_COPY = 0
    KIND_OPAQUE = 1
    KIND_REFUSE = 2
    KIND_INDEX = 3
    KIND_ID = 6
    KIND_ROUTING = 7
    KIND_FIELD = 8
    KIND_QUERY = 9
    KIND_DOC = 10
    KIND_SETTINGS = 16
    KIND_UNKNOWN = 21
    KIND_TAGGED = 22
    KIND_SOURCE = 23

cdef enum:
    OP_COPY = 0
    OP_PREFIX = 1
    OP_STRIP = 2
    OP_STOP = 3
    OP_WRAP = 4
    OP_REFUSE = 5
    OP_DROP = 6
    OP_WATCH = 7
    OP_OMIT = 8

cdef enum:
    MARK_META_FIELD = 4

cdef struct State

cdef struct Slot:  # a name and where it leads; head, tail and size tell names of up to 16 bytes apart
    uint64_t head
    uint64_t tail
    const uint8_t* name
    uint32_t size
    uint32_t index  # place of the key in its state; ensured keys come first
    const State* state  # where it leads; NULL: an empty slot
    uint8_t role

cdef enum Role:  # of a key in its object
    ENSURED = 1  # it is added when it is absent
    SPARES = 2  # an object under it makes that unnecessary

cdef struct Names:  # open addressing, at most half full
    Slot* slots
    uint32_t mask
    uint32_t size

cdef struct Ensured:
    const uint8_t* text  # ,"name":
    size_t size
    uint8_t kind  # of the value that is to stand there

cdef struct State:
    Names keys
    Names tags
    Ensured* ensured
    uint64_t ensured_bits
    uint32_t mark
    const State* items  # state of an array's elements
    int32_t other  # state under any other key; -1: there is no other key
    int32_t reason
    uint8_t kind
    uint8_t other_kind
    bint walked  # an object has keys that we know
    bint opaque  # an object may hold anything
    bint spans  # a STOP takes an object as a whole

cdef struct Act:
    uint8_t op
    const uint8_t* a
    size_t a_size
    const uint8_t* b
    size_t b_size
    const uint8_t* absent
    size_t absent_size
    const uint8_t* quoted  # a after a quotation mark: a number becomes a string
    size_t quoted_size


cdef inline void ends(const uint8_t* name, size_t size, uint64_t* head, uint64_t* tail) noexcept nogil:
    """The first and the last bytes of a name, overlapping; with the size they are the whole name up to 16 bytes."""
    if size >= 8:
        head[0] = es_load64(name)
        tail[0] = es_load64(name + size - 8)
    elif size >= 4:
        head[0] = es_load32(name)
        tail[0] = es_load32(name + size - 4)
    elif size > 0:
        head[0] = name[0] | <uint64_t>name[size >> 1] << 8 | <uint64_t>name[size - 1] << 16
        tail[0] = 0
    else:
        head[0] = tail[0] = 0


cdef inline uint32_t place(uint64_t head, uint64_t tail, size_t size) noexcept nogil:
    return <uint32_t>(((head ^ tail << 7 ^ size) * <uint64_t>0x9E3779B97F4A7C15) >> 32)


cdef inline const Slot* find(const Names* names, const uint8_t* name, size_t size) noexcept nogil:
    """The slot of a decoded name, NULL when it is not known."""
    cdef uint64_t head
    cdef uint64_t tail
    cdef uint32_t i
    cdef const Slot* slot
    if names.slots == NULL:
        return NULL
    ends(name, size, &head, &tail)
    i = place(head, tail, size)
    while True:
        slot = &names.slots[i & names.mask]
        if slot.state == NULL:
            return NULL
        if slot.head == head and slot.tail == tail and slot.size == size:
            if size <= 16 or memcmp(slot.name, name, size) == 0:
                return slot
        i += 1


cdef class Table:
    cdef State* states
    cdef readonly int size
    cdef readonly int indices  # keys that lead to the name of an index
    cdef readonly tuple reasons
    cdef list _texts  # owns what the names point to
    cdef int _count(self, const Names* names) except -1
    cdef int _fill(self, State* state, dict row, list states) except -1
    cdef int32_t _target(self, number) except -1
    cdef int _names(self, Names* names, list rows, dict roles) except -1


cdef class Bindings:
    cdef Act acts[KINDS_MAX]
    cdef tuple _texts  # owns what the acts point to
