"""Rule tables and bindings, compiled for the walk.

A `Table` holds one `State` per state of the rule table (docs/design/rule-tables.md). A state's keys stand in an
open-addressed table of slots. A slot holds the name's first and last eight bytes and its size, which is the whole name up
to 16 bytes, so that a key is found with one multiplication and three comparisons, and no known key is mistaken for
another: there is no hash to collide.

`Bindings` are an array of `Act` by kind. Both are immutable after construction and own every byte they point to; passes
keep them alive. What is written wrongly is refused here, at start, with the place at fault; the walk then trusts it.
"""

import json

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from esproxy.api.kinds import Kind, Mark, Op

_ROW = frozenset(("kind", "keys", "other", "tags", "items", "ensure", "unless", "mark", "reason"))
_ANYTHING = frozenset((Kind.OPAQUE, Kind.DOC, Kind.SETTINGS))
_OBJECTS = _ANYTHING | {Kind.QUERY}
_OF_NAMES = frozenset((Op.PREFIX, Op.STRIP, Op.WATCH, Op.OMIT))

NUMBERS = {  # what the core was compiled with, for the test that compares it with esproxy.api.kinds
    "COPY": KIND_COPY, "OPAQUE": KIND_OPAQUE, "REFUSE": KIND_REFUSE, "INDEX": KIND_INDEX, "ID": KIND_ID,
    "ROUTING": KIND_ROUTING, "FIELD": KIND_FIELD, "QUERY": KIND_QUERY, "DOC": KIND_DOC,
    "SETTINGS": KIND_SETTINGS, "UNKNOWN": KIND_UNKNOWN, "TAGGED": KIND_TAGGED, "SOURCE": KIND_SOURCE,
    "op": {"COPY": OP_COPY, "PREFIX": OP_PREFIX, "STRIP": OP_STRIP, "STOP": OP_STOP, "WRAP": OP_WRAP,
           "REFUSE": OP_REFUSE, "DROP": OP_DROP, "WATCH": OP_WATCH, "OMIT": OP_OMIT},
    "mark": {"META_FIELD": MARK_META_FIELD},
}


cdef class Table:
    """The states of a rule table: ``Table(states, reasons)`` from the lists of the JSON file."""

    def __cinit__(self, list states not None, list reasons not None):
        cdef int number
        self._texts = []
        self.reasons = tuple(reasons)
        self.size = len(states)
        self.states = <State*>calloc(max(1, self.size), sizeof(State))
        if self.states == NULL:
            raise MemoryError
        for number, row in enumerate(states):
            try:
                self._fill(&self.states[number], row, states)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"state {number} of the rule table: {error}") from error
        for number in range(self.size):
            self._count(&self.states[number].keys)

    cdef int _count(self, const Names* names) except -1:
        cdef uint32_t i
        if names.slots != NULL:
            for i in range(names.mask + 1):
                if names.slots[i].state != NULL and names.slots[i].state.kind == KIND_INDEX:
                    self.indices += 1
        return 0

    def __dealloc__(self):
        cdef int number
        if self.states == NULL:
            return
        for number in range(self.size):
            free(self.states[number].keys.slots)
            free(self.states[number].tags.slots)
            free(self.states[number].ensured)
        free(self.states)

    cdef int _fill(self, State* state, dict row, list states) except -1:
        cdef int i
        unknown = row.keys() - _ROW
        if unknown:
            raise ValueError(f"unknown entries {sorted(unknown)}")
        kind = Kind[row.get("kind", "COPY")]
        keys, ensure, unless, tags = row.get("keys"), row.get("ensure", []), row.get("unless", []), row.get("tags")
        state.kind = kind
        state.walked = keys is not None or "other" in row
        state.opaque = kind in _ANYTHING and not state.walked
        state.spans = kind in _OBJECTS
        state.mark = Mark[row["mark"]] if "mark" in row else 0
        state.reason = row.get("reason", -1)
        if (kind == Kind.REFUSE) != (0 <= state.reason < len(self.reasons)):
            raise ValueError("kind REFUSE and an index into reasons go together")
        state.items = &self.states[self._target(row["items"])] if "items" in row else state
        state.other = -1
        if "other" in row:
            other_kind, target = row["other"]
            state.other_kind = Kind[other_kind]
            state.other = self._target(target)
        if tags is not None and (state.other < 0 or state.other_kind != Kind.TAGGED):
            raise ValueError("tags go with other keys of kind TAGGED")
        keys = {} if keys is None else keys
        absent = [name for name in [*ensure, *unless] if name not in keys]
        if absent or len(ensure) > 64:
            raise ValueError(f"ensured keys {absent or ensure} have to be at most 64 of its keys")
        roles = {name: SPARES for name in unless} | {name: ENSURED for name in ensure}
        first = [(name, keys[name]) for name in ensure]
        self._names(&state.keys, first + [(name, target) for name, target in keys.items() if name not in ensure], roles)
        self._names(&state.tags, list((tags or {}).items()), {})
        if ensure:
            state.ensured = <Ensured*>calloc(len(ensure), sizeof(Ensured))
            if state.ensured == NULL:
                raise MemoryError
            state.ensured_bits = (<uint64_t>1 << len(ensure)) - 1 if len(ensure) < 64 else ~<uint64_t>0
        for i, name in enumerate(ensure):
            text = f",{json.dumps(name, ensure_ascii=False)}:".encode()
            self._texts.append(text)
            state.ensured[i].text = <const uint8_t*><char*>text
            state.ensured[i].size = len(text)
            state.ensured[i].kind = Kind[states[self._target(keys[name])].get("kind", "COPY")]
        return 0

    cdef int32_t _target(self, number) except -1:
        if type(number) is not int or not 0 <= number < self.size:
            raise ValueError(f"there is no state {number!r}")
        return number

    cdef int _names(self, Names* names, list rows, dict roles) except -1:
        cdef Slot* slot
        cdef uint32_t i
        cdef uint32_t index
        if not rows:
            return 0
        room = 2
        while room < 2 * len(rows):
            room *= 2
        names.slots = <Slot*>calloc(room, sizeof(Slot))
        if names.slots == NULL:
            raise MemoryError
        names.mask = room - 1
        names.size = len(rows)
        for index, (name, target) in enumerate(rows):
            text = name.encode()
            self._texts.append(text)
            number = self._target(target)
            if find(names, <const uint8_t*><char*>text, len(text)) != NULL:
                raise ValueError(f"the key {name!r} comes twice")
            head, tail = _ends(text)
            i = place(head, tail, len(text))
            while names.slots[i & names.mask].state != NULL:
                i += 1
            slot = &names.slots[i & names.mask]
            slot.head = head
            slot.tail = tail
            slot.name = <const uint8_t*><char*>text
            slot.size = len(text)
            slot.index = index
            slot.state = &self.states[number]
            slot.role = roles.get(name, 0)
        return 0

    def __repr__(self):
        return f"<Table of {self.size} states>"


cdef tuple _ends(bytes text):
    cdef uint64_t head
    cdef uint64_t tail
    ends(<const uint8_t*><char*>text, len(text), &head, &tail)
    return head, tail


cdef class Bindings:
    """What is done at each kind: ``Bindings({kind: action})``; a kind that is absent is copied.

    An action has the attributes ``op, a, b, absent`` (`esproxy.core.Action`). ValueError when the two do not go together,
    or when what is to be written into bodies is not JSON. There can be one for each of many tenants: of the actions nothing is
    kept but their texts, each once.
    """

    def __cinit__(self, actions not None):
        cdef Act* act
        cdef bytes a
        cdef bytes b
        cdef bytes absent
        cdef bytes quoted
        texts = {}
        for kind, action in actions.items():
            kind = Kind(kind)
            _check(kind, action)
            a, b, absent, quoted = (texts.setdefault(text, text) for text in (action.a, action.b, action.absent, b'"' + action.a))
            act = &self.acts[<int>kind]
            act.op = action.op
            act.a, act.a_size = <const uint8_t*><char*>a, len(a)
            act.b, act.b_size = <const uint8_t*><char*>b, len(b)
            act.absent, act.absent_size = <const uint8_t*><char*>absent, len(absent)
            act.quoted, act.quoted_size = <const uint8_t*><char*>quoted, len(quoted)
        self._texts = tuple(texts)
        self.acts[KIND_REFUSE].op = OP_REFUSE
        self.acts[KIND_LEFT_OUT].op = OP_DROP

    def __repr__(self):
        bound = [kind.name for kind in Kind if self.acts[<int>kind].op]
        return f"<Bindings of {', '.join(bound)}>"


def _check(kind, action):
    """An action that would be silently without effect, or write what is no JSON, is a mistake."""
    op = Op(action.op)
    for text in (action.a, action.b, action.absent):
        if type(text) is not bytes:
            raise TypeError(f"{kind.name}: an action is written in bytes, not {text!r}")
    if kind == Kind.REFUSE:
        raise ValueError("REFUSE cannot be bound: it is never let through")
    if op in _OF_NAMES and kind in _OBJECTS:
        raise ValueError(f"{kind.name} is bound to {op.name}, which is for names")
    if op == Op.WRAP and kind not in _OBJECTS:
        raise ValueError(f"{kind.name} is bound to WRAP, which is for objects")
    if op in (Op.PREFIX, Op.STRIP) and any(c < 0x20 or c > 0x7E or c in b'"\\' for c in action.a):
        raise ValueError(f"{kind.name}: {action.a!r} cannot stand in a JSON string as it is")
    try:
        if op == Op.WRAP:
            json.loads(action.a + b"{}" + action.b)
        if action.absent:
            json.loads(action.absent)
    except ValueError as error:
        raise ValueError(f"{kind.name}: what is to be written there is not JSON: {error}") from error
