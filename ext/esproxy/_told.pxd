"""Stops that are answered inside of the machine; see _told.pyx."""

from esproxy._memory cimport Walker

cdef int answer(Walker* w) noexcept nogil
