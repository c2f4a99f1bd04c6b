"""Documents that are stored without a question; see _documents.pyx."""

from libc.stdint cimport uint8_t

from esproxy._memory cimport Walker
from esproxy._table cimport Bindings, Table
from esproxy._texts cimport Texts

cdef class Documents:
    cdef Table table
    cdef Bindings bindings
    cdef Texts odd
    cdef bint take(self, Walker* w, const uint8_t* start, const uint8_t* end) noexcept
