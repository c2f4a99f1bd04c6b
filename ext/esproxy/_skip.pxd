"""The machine for what is not interpreted; see _skip.pyx."""

from esproxy._memory cimport Walker

cdef int skip(Walker* w) noexcept nogil
