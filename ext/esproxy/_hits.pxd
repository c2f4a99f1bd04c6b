"""What the machine may answer by; see _hits.pyx."""

from libc.stdint cimport uint64_t

from esproxy._memory cimport Told

cdef class Hits:
    cdef public object here
    cdef public object last
    cdef public object before
    cdef public list only
    cdef public bytes token
    cdef public bytes name_token
    cdef public bytes front
    cdef public bytes bare
    cdef public bytes nest
    cdef public bint verified
    cdef public bint waiting
    cdef public bytes before_id
    cdef public bytes behind_id
    cdef public size_t most
    cdef public uint64_t ids
    cdef Told told
    cdef Hits unread(self)
    cdef Told* tell(self) except NULL
    cdef int hear(self) except -1
