"""Bulk bodies: lines, of which each is walked, copied or refused by the one before it.

    ACTION ──index, create──▶ SOURCE (a document) ──▶ ACTION
           ──update─────────▶ SOURCE (an update body) ──▶ ACTION
           ──delete, or a blank line──▶ ACTION

A line feed ends a line and nothing else does, not even inside of what would be JSON across lines: that is how nodes split.
What nodes do otherwise, measured on Elasticsearch 9.4 and OpenSearch 3.8, and what is done here:

* blank action lines (white space only) are skipped by nodes: copied;
* a carriage return before the line feed is white space: copied;
* bytes after the last line feed, blank or not, are a 400 for the whole bulk: NO_NEWLINE;
* an action with nothing behind it is dropped by nodes without a word: copied, and not counted as a record;
* a broken action line or update body is a 400 for the whole bulk: the pass fails there. Two things that nodes let through
  fail too: something behind an update body, and (OpenSearch) behind an action's object;
* a broken document is its item's 400: where documents are not parsed here it goes as it is. Where they are, what we do not
  understand must not be stored, so ``{`` goes in its place, which is one item's 400 on every node, and the item's number and
  our own error are noted in ``broken``.

**Records leave whole**: the output of every ``feed`` ends between two records, so a stream can be cut into several bulks
there. What is held is less than one record, at most ``max_record`` bytes, with the edits noted in it so far. With ``flow``
a document that is not parsed leaves as it comes once more than so many bytes of its record are held, so that a record of any size
is held nowhere; ``between`` says whether the output so far ends between two records. A record that turns out to be too large has then left in part: the pass has failed, and its caller
throws away what did.

**Who a record belongs to** may differ from record to record: ``target(index)`` is asked with the raw ``_index`` token (None
when there is none) and answers with the bindings and the document state of that index, or None for a miss. It is asked again
only when the token changes. The action line is then walked twice: once to find the token, once under its bindings. With a third
word of the answer, `Documents`, those that it has are stored by it, and the document state is for what is left.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, strlen

from esproxy._documents cimport Documents
from esproxy._lex cimport space_end
from esproxy._memory cimport (
    ACTION, EMPTY, FAIL, NO_MEMORY, NO_NEWLINE, OK, RAISED, STOP, TOO_LARGE, Walker, edit, fail, forget, restart,
)
from esproxy._pass cimport Body, failure
from esproxy._table cimport Act, Bindings, Names, Slot, Table, find
from esproxy._walk cimport walk

from types import SimpleNamespace

from esproxy.api.kinds import Kind, Op

cdef enum Verb:
    INDEX = 0
    CREATE = 1
    UPDATE = 2
    DELETE = 3
    NO_VERB = 4

VERBS = ("index", "create", "update", "delete")
cdef const char* NAMES[4]
NAMES[:] = [b"index", b"create", b"update", b"delete"]
cdef const uint8_t* POISON = b"{"

cdef enum:
    OPENING = 256  # bytes of an action line that are compared with the next one's

cdef Bindings PEEK = Bindings({Kind.INDEX: SimpleNamespace(op=Op.STOP, a=b"", b=b"", absent=b"")})


cdef int state_of(Table table, int number) except -1:
    if not 0 <= number < table.size:
        raise ValueError(f"there is no state {number}")
    return number


cdef class BulkPass(Body):
    """``BulkPass(table, action_state, update_state, doc_state | None, bindings, resolver=None, *, max_depth=100,
    max_record=…, target=None, flow=0)``. ``doc_state`` None: documents are copied unparsed."""

    cdef int action_state
    cdef int update_state
    cdef int doc_state
    cdef int now_doc_state  # of the record under way
    cdef size_t max_record
    cdef size_t flow
    cdef size_t left  # bytes of the record under way that have left
    cdef uint8_t verbs[4]  # by a key's place in the action state
    cdef int verb  # of the record under way; NO_VERB: an action line is next
    cdef size_t line_at  # where the line under way begins in the window
    cdef size_t scanned  # how far the search for its end has come
    cdef object target
    cdef bytes last_index  # the token that `target` was last asked for; b"" for none
    cdef uint8_t opening[OPENING]  # of the last action line that was looked through, up to the end of its token
    cdef size_t opening_size
    cdef Bindings now_bindings
    cdef Documents documents  # None: all go by the document state
    cdef uint64_t counts[4]
    cdef readonly uint64_t records  # that have left
    cdef readonly uint64_t line  # lines that have ended, the one at fault included
    cdef list faults

    def __cinit__(self, Table table not None, int action_state, int update_state, doc_state, Bindings bindings not None,
                  resolver=None, *, int max_depth=100, size_t max_record=100 << 20, target=None, size_t flow=0):
        self.take(table, bindings, resolver, action_state, max_depth)
        self.action_state = action_state
        self.update_state = state_of(table, update_state)
        self.doc_state = self.now_doc_state = -1 if doc_state is None else state_of(table, doc_state)
        self.max_record = max_record
        self.flow = flow
        self.verb = NO_VERB
        self.target = target
        self.now_bindings = bindings
        self.find_verbs(&table.states[action_state].keys)

    cdef int find_verbs(self, const Names* keys) except -1:
        """Note the place of each action among the keys of the action state, which may have no others."""
        cdef uint32_t found = 0
        cdef int verb
        cdef const Slot* slot
        for verb in range(4):
            slot = find(keys, <const uint8_t*>NAMES[verb], strlen(NAMES[verb]))
            if slot != NULL:
                found += 1
                self.verbs[slot.index] = verb
        if found != keys.size:
            raise ValueError("the action state has a key that is no bulk action")
        return 0

    def feed(self, bytes data not None, bint last):
        """Read on; returns whole records, rewritten. After a failure or a miss there are none."""
        cdef Walker* w = self.w
        cdef const uint8_t* p  # the line under way
        cdef const uint8_t* end
        cdef const uint8_t* feed_at
        cdef const uint8_t* whole  # end of the last whole record
        cdef size_t n_edits = 0
        cdef ptrdiff_t grown = 0
        cdef uint64_t records = 0
        if self.open(data, 0, last):
            return b""
        whole = w.base
        p = w.base + self.line_at
        end = w.end
        while True:
            feed_at = <const uint8_t*>memchr(w.base + self.scanned, c"\n", end - w.base - self.scanned) if end > w.base else NULL
            if feed_at == NULL:
                self.scanned = end - w.base
                break
            self.line += 1
            if self.left + <size_t>(feed_at + 1 - whole) > self.max_record:
                fail(w, TOO_LARGE, whole)
            elif self.verb == NO_VERB:
                self.action(p, feed_at)
            else:
                self.source(p, feed_at)
            if w.status != OK:
                break
            p = feed_at + 1
            self.scanned = p - w.base
            if self.verb == NO_VERB:
                whole = p
                n_edits, grown = w.n_edits, w.grow
        w.end = end
        w.last = last
        if w.status == OK:
            self.judge_rest(p, whole, end)
        if w.status != OK:
            return self.close(data, None, whole, 0, 0)
        if last:
            whole = end
            n_edits, grown = w.n_edits, w.grow
        elif self.flow and p < end and self.now_doc_state < 0 and (self.verb == INDEX or self.verb == CREATE):
            if self.left or <size_t>(end - whole) > self.flow:
                self.left += end - whole
                whole = p = end
                n_edits, grown = w.n_edits, w.grow
        w.at = p
        self.line_at = p - whole
        self.scanned -= whole - w.base
        return self.close(data, None, whole, n_edits, grown)

    cdef int judge_rest(self, const uint8_t* p, const uint8_t* whole, const uint8_t* end) except -1:
        """What stands behind the last line feed of the window, and behind the last whole record."""
        cdef Walker* w = self.w
        if self.left + <size_t>(end - whole) > self.max_record:
            self.line += 1
            fail(w, TOO_LARGE, whole)
        elif self.finished and (p < end or self.left):
            self.line += 1
            fail(w, NO_NEWLINE, end)
        elif self.finished and self.line == 0:
            fail(w, EMPTY, end)
        return 0

    cdef int line_walk(self, const uint8_t* start, const uint8_t* end, int32_t state) except -1:
        restart(self.w, state)
        self.w.at = start
        self.w.end = end
        self.w.last = True
        self.run()
        return 0

    cdef int action(self, const uint8_t* start, const uint8_t* end) except -1:
        """An action line: blank, or one object with exactly one key."""
        cdef Walker* w = self.w
        cdef uint64_t seen
        cdef int place = 0
        cdef bint alike = False
        if space_end(start, end) >= end:
            return 0
        if self.target is not None:
            alike = self.opens_alike(start, end)
            if not alike:
                self.aim(start, end)
                if w.status != OK:
                    return 0
            w.acts = self.now_bindings.acts
        self.line_walk(start, end, self.action_state)
        seen = w.root_seen
        if w.status == OK and (seen == 0 or seen & (seen - 1)):
            fail(w, ACTION, start)
        if w.status != OK:
            if alike:
                self.look_through(start, end)
            return 0
        while not seen >> place & 1:
            place += 1
        self.verb = self.verbs[place]
        if self.verb == DELETE:
            self.end_record()
        return 0

    cdef bint opens_alike(self, const uint8_t* start, const uint8_t* end) noexcept:
        """Is the line aimed as the last one was? It is where it opens so and there is but one key that leads to a name: a second name
        would be a key that comes twice, or in another action, and neither is let through. There may be no array, which could hold
        a second one."""
        cdef size_t size = self.opening_size
        if self.last_index is None:
            return False
        if self.table.indices == 0:
            return True
        return size > 0 and <size_t>(end - start) > size and memcmp(start, self.opening, size) == 0

    cdef int look_through(self, const uint8_t* start, const uint8_t* end) except -1:
        """A line that has failed: what the search for its token says goes first."""
        cdef Walker* w = self.w
        cdef int status = w.status
        cdef uint64_t fail_at = w.fail_at
        cdef int reason = w.reason
        cdef const Act* refusal = w.refusal
        cdef const Slot* slot = w.slot
        cdef const uint8_t* key = w.key
        cdef size_t key_size = w.key_size
        forget(w)
        w.hold = w.omit = w.drop = NULL
        self.peek(start, end)
        if w.status == OK:
            w.status, w.fail_at, w.reason, w.refusal = status, fail_at, reason, refusal
            w.slot, w.key, w.key_size = slot, key, key_size
        return 0

    cdef int source(self, const uint8_t* start, const uint8_t* end) except -1:
        """The line behind an action."""
        cdef Walker* w = self.w
        cdef size_t n_edits = w.n_edits
        cdef ptrdiff_t grown = w.grow
        if self.verb == UPDATE:
            self.line_walk(start, end, self.update_state)
        elif self.documents is not None and self.documents.take(w, start, end):
            pass
        elif self.now_doc_state >= 0:
            self.line_walk(start, end, self.now_doc_state)
            if w.status != OK:
                if w.status == NO_MEMORY:
                    raise MemoryError
                if self.faults is None:
                    self.faults = []
                self.faults.append((self.records, failure(w, self.table)))
                forget(w)
                w.hold = w.omit = w.drop = NULL
                w.status = OK
                w.n_edits = n_edits
                w.grow = grown
                if not edit(w, start, end - start, POISON, 1):
                    raise MemoryError
        if w.status == OK:
            self.end_record()
        return 0

    cdef int end_record(self) except -1:
        self.counts[self.verb] += 1
        self.records += 1
        self.left = 0
        self.verb = NO_VERB
        return 0

    cdef int peek(self, const uint8_t* start, const uint8_t* end) except -1:
        """Find the line's ``_index`` token: ``stop_start`` … ``stop_end``, NULL where there is none. Nothing else is done."""
        cdef Walker* w = self.w
        cdef const uint8_t* token = NULL
        cdef const uint8_t* token_end = NULL
        restart(w, self.action_state)
        w.acts = PEEK.acts
        w.at = start
        w.end = end
        w.last = True
        w.told = NULL
        while walk(w) == STOP:
            if token != NULL:
                fail(w, ACTION, w.stop_start)
                return 0
            token, token_end = w.stop_start, w.stop_end
        w.stop_start, w.stop_end = token, token_end
        if self.hits is not None:
            w.told = &self.hits.told
        return 0

    cdef int aim(self, const uint8_t* start, const uint8_t* end) except -1:
        """Find the record's ``_index`` and take the bindings that belong to it."""
        cdef Walker* w = self.w
        cdef const uint8_t* token
        cdef Py_ssize_t size
        self.peek(start, end)
        if w.status != OK:
            return 0
        token, size = w.stop_start, w.stop_end - w.stop_start
        self.opening_size = 0
        if self.table.indices == 1 and token != NULL and w.stop_end - start <= OPENING:
            if memchr(start, c"[", w.stop_end - start) == NULL:
                self.opening_size = w.stop_end - start
                memcpy(self.opening, start, self.opening_size)
        if self.last_index is not None and PyBytes_GET_SIZE(self.last_index) == size:
            if size == 0 or memcmp(PyBytes_AS_STRING(self.last_index), token, size) == 0:
                return 0
        self.last_index = PyBytes_FromStringAndSize(<const char*>token, size)
        if self.hits is not None:
            self.hits.hear()
        self.busy = True
        fail(w, RAISED, start)  # until it has answered
        try:
            answer = self.target(self.last_index if size else None)
            if answer is None:
                self.misses += 1
                self.last_index = None
                answer = self.bindings, (None if self.doc_state < 0 else self.doc_state)
            bindings, doc_state, documents = answer if len(answer) == 3 else (*answer, None)
            if not isinstance(bindings, Bindings) or not (documents is None or isinstance(documents, Documents)):
                raise TypeError(f"a target is (Bindings, state | None) or (Bindings, state | None, Documents), not {answer!r}")
            if doc_state is not None and not 0 <= doc_state < self.table.size:
                raise ValueError(f"there is no state {doc_state}")
            w.status = OK
        finally:
            self.busy = False
        if self.hits is not None:
            w.told = self.hits.tell()
        if self.answers is None:
            self.answers = []
        self.answers.append(self.now_bindings)  # edits point into them until they have been carried out
        self.now_bindings = bindings
        if self.documents is not None:
            self.answers.append(self.documents)
        self.documents = documents
        self.now_doc_state = -1 if doc_state is None else doc_state
        return 0

    @property
    def between(self):
        """Whether the output so far ends between two records."""
        return self.left == 0

    @property
    def broken(self):
        """(number of the record, BodyError) of each document that was not let through."""
        return [] if self.faults is None else self.faults

    @property
    def ops(self):
        """How many records there were of each action."""
        return dict(zip(VERBS, self.counts))

    def __repr__(self):
        return f"<BulkPass {self.status.name} at {self.offset}, {self.records} records>"
