"""Several texts looked for at once; see _texts.pyx."""

from libc.stdint cimport uint8_t

cdef enum:
    MOST = 64  # texts

cdef struct Text:
    const uint8_t* text
    size_t size
    size_t before  # bytes in front of the anchor
    int next  # the next text with the same anchor; -1: none


cdef class Texts:
    cdef tuple texts
    cdef Text rows[MOST]
    cdef int first[256]  # of the texts with this anchor; -1: none
    cdef uint8_t anchors[MOST]
    cdef int n_anchors
    cdef bint between(self, const uint8_t* start, const uint8_t* end) noexcept
    cdef bint at(self, const uint8_t* start, const uint8_t* p, const uint8_t* end) noexcept
