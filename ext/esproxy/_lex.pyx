"""The longer ways of the scans in _lex.pxd: strings with escapes or characters beyond ASCII, literals, and what a string means.

What a verdict says depends on the bytes alone and never on where they were cut: `escape` and `utf8` judge the bytes at hand before
they ask for more.
"""

from libc.stdint cimport uint8_t


cdef inline int hex_digit(uint8_t c) noexcept nogil:
    if 0x30 <= c <= 0x39:
        return c - 0x30
    c |= 0x20
    if 0x61 <= c <= 0x66:
        return c - 0x57
    return -1


cdef inline int hex4(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The value of four hex digits; -1 when one is none, -2 when the window ends before the fourth."""
    cdef int value = 0
    cdef int digit
    cdef int i
    for i in range(4):
        if p + i >= end:
            return -2
        digit = hex_digit(p[i])
        if digit < 0:
            return -1
        value = value << 4 | digit
    return value


cdef inline int escape(const uint8_t* p, const uint8_t* end, int* flags) noexcept nogil:
    """The length of the escape at p, a surrogate pair taken as one; 0 when the window cuts it, -1 when it is none."""
    cdef int code
    cdef int low
    flags[0] |= ESCAPED
    if p + 1 >= end:
        return 0
    if p[1] != c'u':
        if p[1] == c'"' or p[1] == c'\\' or p[1] == c'/' or p[1] == c'n':
            return 2
        return 2 if p[1] == c'b' or p[1] == c'f' or p[1] == c'r' or p[1] == c't' else -1
    code = hex4(p + 2, end)
    if code < 0:
        return 0 if code == -2 else -1
    if code < 0xD800 or code > 0xDFFF:
        return 6
    if code < 0xDC00:
        if p + 6 >= end:
            return 0
        if p[6] == c'\\':
            if p + 7 >= end:
                return 0
            if p[7] == c'u':
                low = hex4(p + 8, end)
                if low == -2:
                    return 0
                if 0xDC00 <= low <= 0xDFFF:
                    return 12
    flags[0] |= LONE
    return 6


cdef inline int utf8(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The length of the UTF-8 sequence at p (RFC 3629, section 4); 0 when the window cuts it, -1 when it is none."""
    cdef uint8_t lead = p[0]
    cdef uint8_t low = 0x80
    cdef uint8_t high = 0xBF
    cdef int size
    cdef int i
    if lead < 0xC2 or lead > 0xF4:
        return -1
    if lead < 0xE0:
        size = 2
    elif lead < 0xF0:
        size = 3
        if lead == 0xE0:
            low = 0xA0  # shorter forms are overlong
        elif lead == 0xED:
            high = 0x9F  # surrogates are no characters
    else:
        size = 4
        if lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F  # the last one is U+10FFFF
    if p + 1 >= end:
        return 0
    if p[1] < low or p[1] > high:
        return -1
    for i in range(2, size):
        if p + i >= end:
            return 0
        if p[i] & 0xC0 != 0x80:
            return -1
    return size


cdef const uint8_t* string_rest(const uint8_t* p, const uint8_t* end, int* verdict, int* flags) noexcept nogil:
    cdef int size
    while True:
        p = es_plain_end(p, end)
        if p >= end:
            verdict[0] = CUT
            return p
        if p[0] == c'"':
            verdict[0] = FOUND
            return p
        if p[0] == c'\\':
            size = escape(p, end, flags)
            if size <= 0:
                verdict[0] = CUT if size == 0 else BAD_BYTE
                return p
            p += size
        elif p[0] >= 0x80:
            while p < end and p[0] >= 0x80:
                size = utf8(p, end)
                if size <= 0:
                    verdict[0] = CUT if size == 0 else BAD_TEXT
                    return p
                p += size
        else:
            verdict[0] = BAD_BYTE
            return p


cdef int literal(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The length of the ``true``, ``false`` or ``null`` at p; 0 when the window cuts it; -n when byte n-1 is wrong."""
    cdef const char* word = "true" if p[0] == c't' else "false" if p[0] == c'f' else "null"
    cdef int i = 0
    while word[i]:
        if p + i >= end:
            return 0
        if p[i] != <uint8_t>word[i]:
            return -1 - i
        i += 1
    return i


cdef size_t decode(const uint8_t* p, const uint8_t* end, uint8_t* out) noexcept nogil:
    """Write what a verified string without lone surrogates means, as UTF-8; never longer than it stood there."""
    cdef uint8_t* to = out
    cdef int code
    while p < end:
        if p[0] != c'\\':
            to[0] = p[0]
            to += 1
            p += 1
            continue
        if p[1] != c'u':
            if p[1] == c'b':
                to[0] = 0x08
            elif p[1] == c'f':
                to[0] = 0x0C
            elif p[1] == c'n':
                to[0] = 0x0A
            elif p[1] == c'r':
                to[0] = 0x0D
            elif p[1] == c't':
                to[0] = 0x09
            else:
                to[0] = p[1]
            to += 1
            p += 2
            continue
        code = hex4(p + 2, end)
        p += 6
        if code < 0x80:
            to[0] = code
            to += 1
        elif code < 0x800:
            to[0] = 0xC0 | code >> 6
            to[1] = 0x80 | code & 0x3F
            to += 2
        elif 0xD800 <= code < 0xDC00:
            code = 0x10000 + ((code - 0xD800) << 10) + (hex4(p + 2, end) - 0xDC00)
            p += 6
            to[0] = 0xF0 | code >> 18
            to[1] = 0x80 | code >> 12 & 0x3F
            to[2] = 0x80 | code >> 6 & 0x3F
            to[3] = 0x80 | code & 0x3F
            to += 4
        else:
            to[0] = 0xE0 | code >> 12
            to[1] = 0x80 | code >> 6 & 0x3F
            to[2] = 0x80 | code & 0x3F
            to += 3
    return to - out
