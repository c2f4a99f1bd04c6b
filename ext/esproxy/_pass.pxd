"""One body's pass; see _pass.pyx."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint8_t, uint64_t

from esproxy._hits cimport Hits
from esproxy._memory cimport Walker
from esproxy._table cimport Bindings, Table

cdef class Body:
    cdef Walker* w
    cdef readonly Table table
    cdef Bindings bindings
    cdef object resolver
    cdef Hits hits  # the resolver, where it is one
    cdef list answers  # what the resolver gave: edits point into it
    cdef readonly uint64_t misses
    cdef bint busy
    cdef bint finished
    cdef int take(self, Table table, Bindings bindings, object resolver, int root, int max_depth) except -1
    cdef int open(self, bytes data, Py_ssize_t at, bint last) except -1
    cdef int resolve(self) except -1
    cdef int run(self) except -1
    cdef bytes close(self, bytes data, bytes front, const uint8_t* limit, size_t n_edits, ptrdiff_t grown)


cdef class Pass(Body):
    pass


cdef object failure(Walker* w, Table table)
