/* Wide searches and unaligned loads: the only C of the core, because Cython cannot spell intrinsics.
 *
 * The variant is chosen when compiling: SSE2 where the compiler promises it (every x86-64), otherwise plain C on words of
 * eight bytes. ESPROXY_PLAIN_C forces the plain one, so that both can be tested on one machine. Wider variants (AVX2, NEON)
 * belong here, behind the same two functions; where they are chosen at run time only runs longer than a block should pay
 * for the choice, since most strings of a query are shorter.
 *
 * No function reads at or beyond `end`.
 */
#ifndef ESPROXY_WIDE_H
#define ESPROXY_WIDE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(ESPROXY_PLAIN_C)
#include <emmintrin.h>
#define ES_WIDE "sse2"
#else
#define ES_WIDE "c"
#endif

static inline uint32_t es_load32(const uint8_t *p) { uint32_t word; memcpy(&word, p, 4); return word; }
static inline uint64_t es_load64(const uint8_t *p) { uint64_t word; memcpy(&word, p, 8); return word; }

/* Multiply and fold: the mixing step of the key hash. */
static inline uint64_t es_fold(uint64_t x, uint64_t y) {
    unsigned __int128 product = (unsigned __int128)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A byte that a JSON string may hold as it is and that needs no further look: ASCII, no control, no quote, no backslash. */
static inline int es_is_plain(uint8_t c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

static inline int es_is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* The first byte from p on that is not plain; `end` when all are. */
static inline const uint8_t *es_plain_end(const uint8_t *p, const uint8_t *end) {
#if defined(__SSE2__) && !defined(ESPROXY_PLAIN_C)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(0x20);
    while (end - p >= 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)p);
        /* signed: bytes from 0x80 on are negative, so one comparison finds them and the controls */
        __m128i odd = _mm_or_si128(_mm_cmplt_epi8(block, space),
                                   _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
        int mask = _mm_movemask_epi8(odd);
        if (mask) return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#else
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t word = es_load64(p), quotes = word ^ (ones * '"'), backslashes = word ^ (ones * '\\');
        /* a byte borrows from its top bit when it is below what is subtracted; inexact hits only cost a look */
        if ((word | (word - ones * 0x20) | (quotes - ones) | (backslashes - ones)) & tops) break;
        p += 8;
    }
#endif
    while (p < end && es_is_plain(*p)) p++;
    return p;
}

/* Whether all bytes of a name are of [a-z0-9_.-]. Like any, it reads nothing at or beyond `end`, but it may read behind the name. */
static inline int es_is_name(const uint8_t *p, const uint8_t *name_end, const uint8_t *end) {
#if defined(__SSE2__) && !defined(ESPROXY_PLAIN_C)
    while (p < name_end && end - p >= 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)p);
        /* signed: bytes from 0x80 on are below every bound; from '-' to '9' there is one that is none, '/' */
        __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(block, _mm_set1_epi8('a' - 1)), _mm_cmplt_epi8(block, _mm_set1_epi8('z' + 1)));
        __m128i digit = _mm_and_si128(_mm_cmpgt_epi8(block, _mm_set1_epi8('-' - 1)), _mm_cmplt_epi8(block, _mm_set1_epi8('9' + 1)));
        __m128i plain = _mm_or_si128(_mm_or_si128(letter, _mm_cmpeq_epi8(block, _mm_set1_epi8('_'))),
                                     _mm_andnot_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('/')), digit));
        unsigned odd = (unsigned)_mm_movemask_epi8(plain) ^ 0xFFFFu;
        if (name_end - p < 16) return (odd & ((1u << (name_end - p)) - 1)) == 0;
        if (odd) return 0;
        p += 16;
    }
#endif
    while (p < name_end && ((*p >= 'a' && *p <= 'z') || (*p >= '-' && *p <= '9' && *p != '/') || *p == '_')) p++;
    return p >= name_end;
}

/* The first byte from p on that is not white space; `end` when all are. */
static inline const uint8_t *es_space_end(const uint8_t *p, const uint8_t *end) {
#if defined(__SSE2__) && !defined(ESPROXY_PLAIN_C)
    while (end - p >= 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)p);
        __m128i blank = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\n'))),
            _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('\r')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\t'))));
        unsigned mask = (unsigned)_mm_movemask_epi8(blank) ^ 0xFFFFu;
        if (mask) return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && es_is_space(*p)) p++;
    return p;
}

#endif
