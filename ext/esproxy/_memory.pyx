"""Memory of a walker: who owns what, and how little of it a pass allocates.

* A **walker** is taken from a short free list and given back, so that an ordinary body is rewritten without any
  allocation but its output's. Frames, edits and hashes begin inside the walker and move to the heap when they outgrow it.
* The **window** is what the machine reads: the fed bytes themselves when nothing is held, otherwise the hold buffer with
  the fed bytes behind what is held. Pointers into it (`at`, `hold`, `start`, `drop`, `key`) are moved by `window_open`
  and `window_close` and by nobody else. The fed bytes are borrowed for one call of ``feed``.
* **Edits** point into the window (`at`) and to bytes that outlive the call (`put`: bindings, table, or a resolver's answer
  that the pass keeps). They are carried out when their place leaves the window (`edits_done`).
* What is **held** stays at the beginning of the hold buffer: appending is all that a long token costs, its scan goes on
  where it stopped, so the time stays linear in the bytes fed, in whatever cuts.
* **Hashes** of keys that the table does not know by name: a list as long as they are few, then a set of the frame's own,
  freed with it. They are keyed with a secret of the process, so nobody outside can aim for collisions, and a collision
  would refuse a body, never let a duplicate pass.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove

cdef enum:
    FREE_MAX = 8  # walkers on the free list
    KEEP_MAX = 1 << 16  # a buffer above this is not kept for the next body
    FEW = 16  # hashes that are searched one by one

STATUSES = {  # what the core was compiled with, for the test that compares it with esproxy.core.Status
    "OK": OK, "SYNTAX": SYNTAX, "ENCODING": ENCODING, "TRUNCATED": TRUNCATED, "EMPTY": EMPTY, "TRAILING": TRAILING,
    "DEPTH": DEPTH, "DUPLICATE": DUPLICATE, "UNKNOWN_KEY": UNKNOWN_KEY, "OBJECT": OBJECT, "REFUSED": REFUSED, "VIOLATION": VIOLATION,
    "UNRESOLVED": UNRESOLVED, "RAISED": RAISED, "ACTION": ACTION, "NO_NEWLINE": NO_NEWLINE, "TOO_LARGE": TOO_LARGE,
    "NO_MEMORY": NO_MEMORY,
}

cdef Walker* free_list[FREE_MAX]
cdef int n_free = 0


cdef Walker* walker_take() noexcept:
    """A walker with its buffers, or NULL; `begin` sets the rest."""
    global n_free
    cdef Walker* w
    if n_free:
        n_free -= 1
        return free_list[n_free]
    w = <Walker*>calloc(1, sizeof(Walker))
    if w == NULL:
        return NULL
    w.frames = w.frames_inline
    w.frames_room = FRAMES_INLINE
    w.edits = w.edits_inline
    w.edits_room = EDITS_INLINE
    w.hashes = w.hashes_inline
    w.hashes_room = HASHES_INLINE
    return w


cdef void walker_give(Walker* w) noexcept:
    """Take a walker back, whatever it was in the middle of."""
    global n_free
    cdef bint small = w.held_room <= KEEP_MAX and w.scratch_room <= KEEP_MAX and \
        w.edits_room * sizeof(Edit) <= KEEP_MAX and w.hashes_room * sizeof(uint64_t) <= KEEP_MAX
    forget(w)
    if small and n_free < FREE_MAX:
        free_list[n_free] = w
        n_free += 1
        return
    free(w.held)
    free(w.scratch)
    if w.frames != w.frames_inline:
        free(w.frames)
    if w.edits != w.edits_inline:
        free(w.edits)
    if w.hashes != w.hashes_inline:
        free(w.hashes)
    free(w)


cdef void forget(Walker* w) noexcept nogil:
    """Close all frames without a word."""
    cdef int i
    for i in range(1, w.depth + 1):
        if w.frames[i].set != NULL:
            free(w.frames[i].set)
            w.frames[i].set = NULL
    w.depth = 0


cdef void begin(Walker* w, const State* states, const Act* acts, int32_t root, int max_depth) noexcept nogil:
    """Set a walker to the first byte of a body whose value is in state ``root``. The buffers stay."""
    w.states = states
    w.acts = acts
    w.max_depth = max_depth
    w.base = w.at = w.end = NULL
    w.passed = 0
    w.last = False
    w.n_edits = 0
    w.grow = 0
    w.held_size = 0
    w.hold = w.omit = w.drop = w.start = NULL
    w.told = NULL
    w.marks = 0
    w.unknown = 0
    restart(w, root)


cdef void restart(Walker* w, int32_t root) noexcept nogil:
    """Expect another value, in the same window: the next line of a bulk."""
    w.status = OK
    w.reason = -1
    w.refusal = NULL
    w.expect = E_VALUE
    w.token = T_NONE
    w.state = &w.states[root]
    w.depth = 0
    w.n_hashes = 0
    w.opaque = NOT_OPAQUE
    w.root_seen = 0
    w.slot = NULL
    w.key = NULL
    w.key_size = 0


cdef bint window_open(Walker* w, const uint8_t* data, size_t size, bint last) noexcept nogil:
    """Let the machine read the fed bytes, behind what is held if anything is. False: no memory."""
    cdef size_t room
    cdef size_t was
    cdef uint8_t* moved
    w.last = last
    if w.held_size == 0:
        w.base = w.at = data
        w.end = data + size
        if w.drop != NULL:  # up to here it has been left out already
            w.drop = data
        return True
    if w.held_size + size + 1 > w.held_room:
        room = 2 * (w.held_size + size + 1)
        was = <size_t>w.held
        moved = <uint8_t*>realloc(w.held, room)
        if moved == NULL:
            return False
        rebase(w, <ptrdiff_t>(<size_t>moved - was))
        w.held = moved
        w.held_room = room
        w.base = moved
    memcpy(w.held + w.held_size, data, size)
    w.held_size += size
    w.held[w.held_size] = 0  # the sentinel
    w.end = w.held + w.held_size
    return True


cdef bint window_close(Walker* w, const uint8_t* limit) noexcept nogil:
    """Keep what stands from ``limit`` on, and the edits noted there, for the next window. False: no memory."""
    cdef size_t size = w.end - limit
    cdef size_t room
    cdef uint8_t* moved
    if w.hold == NULL:
        w.start = NULL
    if w.slot != NULL:
        w.key = NULL
    elif w.key != NULL and w.key < limit:
        keep_key(w)
    w.passed += limit - w.base
    if size + 1 > w.held_room:  # never when the window is the hold buffer
        room = 2 * (size + 64)
        moved = <uint8_t*>realloc(w.held, room)
        if moved == NULL:
            return False
        w.held = moved
        w.held_room = room
    memmove(w.held, limit, size)
    w.held[size] = 0
    w.held_size = size
    rebase(w, <ptrdiff_t>(<size_t>w.held - <size_t>limit))
    w.base = w.held
    w.end = w.held + size
    return True


cdef void keep_key(Walker* w) noexcept nogil:
    """Keep the beginning of the last key where no window takes it away."""
    if w.key != w.key_shown:
        w.key_size = min(w.key_size, <size_t>KEY_SHOWN)
        memcpy(w.key_shown, w.key, w.key_size)
        w.key = w.key_shown


cdef int fail(Walker* w, int status, const uint8_t* at) noexcept nogil:
    """Note why and where the pass ends; the window may be gone when somebody asks."""
    w.status = status
    w.fail_at = w.passed + (at - w.base)
    if w.key != NULL:
        keep_key(w)
    return FAIL


cdef void rebase(Walker* w, ptrdiff_t by) noexcept nogil:
    """Move the pointers into the window along with it; all of them are NULL or point into it."""
    cdef size_t i
    if w.key != NULL and w.key != w.key_shown:
        w.key += by
    w.at += by
    if w.start != NULL:
        w.start += by
    if w.hold != NULL:
        w.hold += by
    if w.omit != NULL:
        w.omit += by
    if w.drop != NULL:
        w.drop += by
    for i in range(w.n_edits):
        w.edits[i].at += by


cdef void edits_done(Walker* w, size_t n, ptrdiff_t grown) noexcept nogil:
    """Forget the first n edits, which made the output longer by ``grown``."""
    w.n_edits -= n
    w.grow -= grown
    if w.n_edits:
        memmove(w.edits, w.edits + n, w.n_edits * sizeof(Edit))


cdef bint more_edits(Walker* w) noexcept nogil:
    cdef size_t room = 4 * w.edits_room
    cdef Edit* moved
    if w.edits == w.edits_inline:
        moved = <Edit*>malloc(room * sizeof(Edit))
        if moved != NULL:
            memcpy(moved, w.edits, w.n_edits * sizeof(Edit))
    else:
        moved = <Edit*>realloc(w.edits, room * sizeof(Edit))
    if moved == NULL:
        return False
    w.edits = moved
    w.edits_room = room
    return True


cdef bint more_frames(Walker* w) noexcept nogil:
    """Room for one frame above the top; frames move, so callers read ``w.frames`` again."""
    cdef int room = 4 * w.frames_room
    cdef Frame* moved
    if w.frames == w.frames_inline:
        moved = <Frame*>malloc(room * sizeof(Frame))
        if moved != NULL:
            memcpy(moved, w.frames, w.frames_room * sizeof(Frame))
    else:
        moved = <Frame*>realloc(w.frames, room * sizeof(Frame))
    if moved == NULL:
        return False
    w.frames = moved
    w.frames_room = room
    return True


cdef bint more_scratch(Walker* w, size_t size) noexcept nogil:
    cdef uint8_t* moved
    if size <= w.scratch_room:
        return True
    moved = <uint8_t*>realloc(w.scratch, 2 * size)
    if moved == NULL:
        return False
    w.scratch = moved
    w.scratch_room = 2 * size
    return True


cdef int remember(Walker* w, Frame* f, uint64_t hash) noexcept nogil:
    """Note the hash of a key of the frame: OK, DUPLICATE or NO_MEMORY."""
    cdef uint32_t i
    cdef uint64_t* moved
    cdef size_t room
    hash |= 1  # 0 is an empty place of a set
    if f.set != NULL:
        return remember_in_set(f, hash)
    for i in range(f.first, f.first + f.others):
        if w.hashes[i] == hash:
            return DUPLICATE
    if f.others == FEW:
        f.set = <uint64_t*>calloc(4 * FEW, sizeof(uint64_t))
        if f.set == NULL:
            return NO_MEMORY
        f.set_mask = 4 * FEW - 1
        for i in range(f.first, f.first + FEW):
            put_in_set(f.set, f.set_mask, w.hashes[i])
        return remember_in_set(f, hash)
    i = f.first + f.others
    if i == w.hashes_room:
        room = 4 * w.hashes_room
        if w.hashes == w.hashes_inline:
            moved = <uint64_t*>malloc(room * sizeof(uint64_t))
            if moved != NULL:
                memcpy(moved, w.hashes, i * sizeof(uint64_t))
        else:
            moved = <uint64_t*>realloc(w.hashes, room * sizeof(uint64_t))
        if moved == NULL:
            return NO_MEMORY
        w.hashes = moved
        w.hashes_room = room
    w.hashes[i] = hash
    f.others += 1
    w.n_hashes = i + 1
    return OK


cdef int remember_in_set(Frame* f, uint64_t hash) noexcept nogil:
    cdef uint64_t* larger
    cdef uint32_t mask
    cdef uint32_t i
    if 2 * f.others > f.set_mask:
        mask = 2 * f.set_mask + 1
        larger = <uint64_t*>calloc(<size_t>mask + 1, sizeof(uint64_t))
        if larger == NULL:
            return NO_MEMORY
        for i in range(f.set_mask + 1):
            if f.set[i]:
                put_in_set(larger, mask, f.set[i])
        free(f.set)
        f.set = larger
        f.set_mask = mask
    if not put_in_set(f.set, f.set_mask, hash):
        return DUPLICATE
    f.others += 1
    return OK


cdef bint put_in_set(uint64_t* set, uint32_t mask, uint64_t hash) noexcept nogil:
    cdef uint32_t i = <uint32_t>(hash >> 32) & mask
    while set[i]:
        if set[i] == hash:
            return False
        i = (i + 1) & mask
    set[i] = hash
    return True
