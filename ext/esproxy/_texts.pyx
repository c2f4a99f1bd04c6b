"""Does a body hold one of a few texts? They are looked for all at once, in one pass.

Of each text one byte is its *anchor*: the one that bodies have least of. The pass looks every byte up in a table, and only where an
anchor stands are the texts compared that it belongs to. ``bytes.find`` for each text would be a pass each; where there are one or
two anchors the library's search for a byte is faster than the table, and is what is done.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

COMMON = b"e\"tai:onsr, {}ldhcum0123456789fpg_wybvk[].-*"  # bytes of bodies, the most common first; what is not among them is rarer


cdef class Texts:
    """``Texts(texts)``: any of them may be in a body as it stands, wherever."""

    def __cinit__(self, texts not None):
        cdef int i
        cdef int c
        cdef bytes text
        self.texts = tuple(dict.fromkeys(texts))
        if not 0 < len(self.texts) <= MOST or not all(self.texts):
            raise ValueError(f"there have to be 1 to {MOST} texts, none of them empty")
        for c in range(256):
            self.first[c] = -1
        for i, text in enumerate(self.texts):
            before = max(range(len(text)), key=lambda at: COMMON.find(text[at]) % 256)
            self.rows[i].text = <const uint8_t*>PyBytes_AS_STRING(text)
            self.rows[i].size = PyBytes_GET_SIZE(text)
            self.rows[i].before = before
            self.rows[i].next = self.first[text[before]]
            if self.rows[i].next < 0:
                self.anchors[self.n_anchors] = text[before]
                self.n_anchors += 1
            self.first[text[before]] = i

    def are_in(self, bytes body not None):
        """Is one of them?"""
        cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(body)
        return bool(self.between(start, start + PyBytes_GET_SIZE(body)))

    cdef bint between(self, const uint8_t* start, const uint8_t* end) noexcept:
        cdef const uint8_t* p = start
        cdef int i
        if self.n_anchors > 2:
            while p < end:
                if self.first[p[0]] >= 0 and self.at(start, p, end):
                    return True
                p += 1
            return False
        for i in range(self.n_anchors):
            p = <const uint8_t*>memchr(start, self.anchors[i], end - start)
            while p != NULL:
                if self.at(start, p, end):
                    return True
                p += 1
                p = <const uint8_t*>memchr(p, self.anchors[i], end - p)
        return False

    cdef bint at(self, const uint8_t* start, const uint8_t* p, const uint8_t* end) noexcept:
        """Does one stand there whose anchor p points to?"""
        cdef int i = self.first[p[0]]
        cdef const Text* row
        while i >= 0:
            row = &self.rows[i]
            if <size_t>(p - start) >= row.before and <size_t>(end - p) >= row.size - row.before:
                if memcmp(p - row.before, row.text, row.size) == 0:
                    return True
            i = row.next
        return False

    def __repr__(self):
        return f"Texts({self.texts!r})"
