"""The walker: everything that one body's pass remembers, and the edits and windows that every part of it uses.

Ownership is told in _memory.pyx, the states and their invariants in _walk.pyx.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from esproxy._table cimport Act, Slot, State

cdef enum:
    FRAMES_INLINE = 24
    EDITS_INLINE = 48
    HASHES_INLINE = 32
    KEY_SHOWN = 64  # bytes of a key that are kept for a message once its window is gone
    DEPTH_MAX = 1000
    DEPTH_WORDS = 16  # DEPTH_MAX + 1 bits

cdef enum Code:  # esproxy.core.Status has the same numbers and says what they mean
    OK = 0
    SYNTAX = 1
    ENCODING = 2
    TRUNCATED = 3
    EMPTY = 4
    TRAILING = 5
    DEPTH = 6
    DUPLICATE = 7
    UNKNOWN_KEY = 8
    OBJECT = 9
    REFUSED = 10
    VIOLATION = 11
    UNRESOLVED = 12
    RAISED = 13
    ACTION = 14
    NO_NEWLINE = 15
    TOO_LARGE = 16
    NO_MEMORY = 17

cdef enum Expect:
    E_FIRST_KEY = 0
    E_KEY = 1
    E_COLON = 2
    E_FIRST_VALUE = 3
    E_VALUE = 4
    E_AFTER = 5

cdef enum Token:
    T_NONE = 0
    T_KEY = 1
    T_STRING = 2
    T_NUMBER = 3

cdef enum Event:
    GO_ON = 0
    MORE = 1  # the window is read
    STOP = 2  # the resolver is asked for stop_start … stop_end
    DONE = 3  # the body is read
    FAIL = 4  # status says why

cdef enum Opaque:
    NOT_OPAQUE = 0
    COPYING = 1
    SPANNING = 2
    DROPPING = 3

cdef struct Frame:  # an open array or walked object
    const State* state
    const Slot* under  # the key it stands under, for messages
    const Act* wrap  # its `b` is due behind the object
    uint64_t seen  # a bit per known key
    uint64_t dropped  # … that was left out and may be ensured
    uint64_t* set  # hashes of the other keys once they are many
    uint32_t set_mask
    uint32_t first  # of its hashes in the walker's list, while they are few
    uint32_t others
    uint8_t array
    uint8_t written  # a member stands in the output
    uint8_t spared  # nothing has to be ensured

cdef struct Edit:  # at `at`, `cut` bytes of the window give way to `put`
    const uint8_t* at
    size_t cut
    const uint8_t* put
    size_t put_size

cdef struct Told:  # what stops are answered by without asking, and what came of it: see _told.pyx
    const uint8_t* token  # an index's name, as it comes
    size_t token_size
    const uint8_t* name  # what goes there
    size_t name_size
    const uint8_t* front  # of ids: the quote and the scope
    size_t front_size
    const uint8_t* bare  # the routing of a document that was given none
    size_t bare_size
    const uint8_t* nest  # what stands before a document
    size_t nest_size
    const uint8_t* before  # what goes before a record's id, in place of its quote
    size_t before_size
    const uint8_t* behind  # … and behind it
    size_t behind_size
    size_t most  # bytes of such an id; 0: these are hits
    uint64_t ids  # that went there
    int named  # names of indices that came: 0, 1, 2 for more
    bint here  # an index has been named, or was known
    bint verified  # an id since
    bint met  # … that was seen here
    bint documents  # they are looked at

cdef struct Walker:
    # what is walked by
    const State* states
    const Act* acts
    int max_depth
    # the window
    const uint8_t* base
    const uint8_t* at
    const uint8_t* end
    uint64_t passed  # bytes of the body before base
    bint last  # nothing comes after end
    # the machine
    int expect
    int token
    int flags  # of the string under way
    int phase  # of the number under way
    const State* state  # of the value that is expected or under way
    const uint8_t* start  # of the token under way, when it is held
    const uint8_t* hold  # what may not leave the window yet; NULL: nothing
    const uint8_t* omit  # a member that may be left out once its value is known: its comma; it is held. NULL: none
    const uint8_t* drop  # what is being left out begins here; NULL: nothing
    int depth
    Frame* frames  # frames[0] stands for the body itself
    int frames_room
    # inside of what is not interpreted
    int opaque
    int opaque_expect
    int level
    const Act* opaque_wrap
    uint64_t objects[DEPTH_WORDS]
    # what was seen
    int status
    uint64_t fail_at
    int reason
    const Act* refusal  # the binding that refused
    uint32_t marks
    uint64_t unknown
    uint64_t root_seen  # known keys of the outermost object
    const Slot* slot  # the last key, when it is known by name
    const uint8_t* key  # … and when it is not
    size_t key_size
    uint8_t key_shown[KEY_SHOWN]
    # a stop
    const uint8_t* stop_start
    const uint8_t* stop_end
    int stop_kind
    int stop_op
    Told* told  # NULL: every stop is asked
    # memory
    Edit* edits
    size_t n_edits
    size_t edits_room
    ptrdiff_t grow  # how much longer the edits make the window
    uint64_t* hashes
    uint32_t n_hashes
    uint32_t hashes_room
    uint8_t* scratch
    size_t scratch_room
    uint8_t* held
    size_t held_size
    size_t held_room
    Frame frames_inline[FRAMES_INLINE]
    Edit edits_inline[EDITS_INLINE]
    uint64_t hashes_inline[HASHES_INLINE]

cdef Walker* walker_take() noexcept
cdef void walker_give(Walker* w) noexcept
cdef void begin(Walker* w, const State* states, const Act* acts, int32_t root, int max_depth) noexcept nogil
cdef void restart(Walker* w, int32_t root) noexcept nogil
cdef void forget(Walker* w) noexcept nogil
cdef bint window_open(Walker* w, const uint8_t* data, size_t size, bint last) noexcept nogil
cdef bint window_close(Walker* w, const uint8_t* limit) noexcept nogil
cdef void edits_done(Walker* w, size_t n, ptrdiff_t grown) noexcept nogil
cdef int fail(Walker* w, int status, const uint8_t* at) noexcept nogil
cdef bint more_edits(Walker* w) noexcept nogil
cdef bint more_frames(Walker* w) noexcept nogil
cdef bint more_scratch(Walker* w, size_t size) noexcept nogil
cdef int remember(Walker* w, Frame* f, uint64_t hash) noexcept nogil


cdef inline bint edit(Walker* w, const uint8_t* at, size_t cut, const uint8_t* put, size_t put_size) noexcept nogil:
    """Note an edit; edits are noted in the order of their places. False when there is no memory for it."""
    cdef Edit* e
    if w.n_edits == w.edits_room and not more_edits(w):
        return False
    e = &w.edits[w.n_edits]
    e.at = at
    e.cut = cut
    e.put = put
    e.put_size = put_size
    w.n_edits += 1
    w.grow += <ptrdiff_t>put_size - <ptrdiff_t>cut
    return True
