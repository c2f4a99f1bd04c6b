"""The machine; see _walk.pyx."""

from libc.stdint cimport uint8_t, uint64_t

from esproxy._memory cimport Walker

cdef int walk(Walker* w) noexcept nogil
