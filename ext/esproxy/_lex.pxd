"""Where tokens end: strings, numbers, literals and white space of RFC 8259, and nothing about meaning.

Every function takes a position and the end of the window and goes as far as the window allows. A scan never stops inside
a character: an escape or a UTF-8 sequence that the window cuts is left unread (at most 11 bytes), so that the only memory
of a suspended string is its position and its flags, of a suspended number its phase.

**The sentinel.** ``end[0]`` is readable and is NUL or a line feed: a bytes object ends with NUL, the hold buffer is given
one, a bulk line ends with its line feed. No token goes on with either, so single bytes are read without comparing with
``end`` first; white space, which a line feed is, compares.

What is common is inline here; the longer ways are in _lex.pyx.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from "wide.h" nogil:
    const char* ES_WIDE
    uint32_t es_load32(const uint8_t* p) noexcept
    uint64_t es_load64(const uint8_t* p) noexcept
    uint64_t es_fold(uint64_t x, uint64_t y) noexcept
    const uint8_t* es_plain_end(const uint8_t* p, const uint8_t* end) noexcept
    bint es_is_name(const uint8_t* p, const uint8_t* name_end, const uint8_t* end) noexcept
    const uint8_t* es_space_end(const uint8_t* p, const uint8_t* end) noexcept

cdef enum Verdict:
    FOUND = 0  # the position is the closing quote
    CUT = 1  # the window ends first
    BAD_BYTE = 2  # no JSON: a control character or an unknown escape
    BAD_TEXT = 3  # no UTF-8

cdef enum StringFlag:
    ESCAPED = 1  # the string holds an escape
    LONE = 2  # … and one of them is half a surrogate pair

cdef enum Phase:  # of a number: what has been read of it
    N_START = 0
    N_MINUS = 1
    N_ZERO = 2
    N_INT = 3
    N_DOT = 4
    N_FRAC = 5
    N_E = 6
    N_SIGN = 7
    N_EXP = 8

cdef const uint8_t* string_rest(const uint8_t* p, const uint8_t* end, int* verdict, int* flags) noexcept nogil
cdef int literal(const uint8_t* p, const uint8_t* end) noexcept nogil
cdef size_t decode(const uint8_t* p, const uint8_t* end, uint8_t* out) noexcept nogil


cdef inline const uint8_t* space_end(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Past white space. Compact bodies have none, indented ones have long runs."""
    if p[0] > 0x20:
        return p
    if p < end and p[0] == 0x20 and p[1] > 0x20:  # p[1] is at most the sentinel
        return p + 1
    return es_space_end(p, end)


cdef inline const uint8_t* string_end(const uint8_t* p, const uint8_t* end, int* verdict, int* flags) noexcept nogil:
    """The closing quote of the string whose inside goes on at p. Sets flags, never clears them."""
    p = es_plain_end(p, end)
    if p[0] == c'"' and p < end:
        verdict[0] = FOUND
        return p
    return string_rest(p, end, verdict, flags)


cdef inline const uint8_t* number_end(const uint8_t* p, int* phase) noexcept nogil:
    """The first byte that cannot go on with the number; `number_is_whole` tells whether it may end there."""
    cdef int now = phase[0]
    cdef uint8_t c
    while True:
        c = p[0]
        if 0x30 <= c <= 0x39:
            if now == N_START or now == N_MINUS:
                now = N_ZERO if c == 0x30 else N_INT
            elif now == N_DOT:
                now = N_FRAC
            elif now == N_E or now == N_SIGN:
                now = N_EXP
            elif now == N_ZERO:
                break
        elif c == c'.':
            if now != N_ZERO and now != N_INT:
                break
            now = N_DOT
        elif c == c'e' or c == c'E':
            if now != N_ZERO and now != N_INT and now != N_FRAC:
                break
            now = N_E
        elif c == c'-' or c == c'+':
            if now == N_E:
                now = N_SIGN
            elif now == N_START and c == c'-':
                now = N_MINUS
            else:
                break
        else:
            break
        p += 1
    phase[0] = now
    return p


cdef inline bint number_is_whole(int phase) noexcept nogil:
    return phase == N_INT or phase == N_ZERO or phase == N_FRAC or phase == N_EXP
