#include "base/hash.h"

#include <stdio.h>

#define MUL_LO 0x87C37B91114253D5u
#define MUL_HI 0x4CF5AD432745937Fu

static uint64_t rotate_left(uint64_t x, int n)
{
    return (x << n) | (x >> (64 - n));
}

// Little-endian and zero-extended, so that a key means the same on every machine.
static uint64_t read_word(const uint8_t *bytes, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

static uint64_t scramble_lo(uint64_t k)
{
    return rotate_left(k * MUL_LO, 31) * MUL_HI;
}

static uint64_t scramble_hi(uint64_t k)
{
    return rotate_left(k * MUL_HI, 33) * MUL_LO;
}

static uint64_t finalize(uint64_t h)
{
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDu;
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
    return h ^ (h >> 33);
}

static void add_block(struct gi_hash *h, const uint8_t *block)
{
    h->lo ^= scramble_lo(read_word(block, 8));
    h->lo = (rotate_left(h->lo, 27) + h->hi) * 5 + 0x52DCE729u;
    h->hi ^= scramble_hi(read_word(block + 8, 8));
    h->hi = (rotate_left(h->hi, 31) + h->lo) * 5 + 0x38495AB5u;
}

static void add_tail(struct gi_hash *h, const uint8_t *tail, size_t size)
{
    size_t n_lo = size < 8 ? size : 8;
    h->lo ^= scramble_lo(read_word(tail, n_lo));
    h->hi ^= scramble_hi(read_word(tail + n_lo, size - n_lo));
}

void gi_hash_init(struct gi_hash *hash)
{
    *hash = (struct gi_hash){0};
}

void gi_hash_add(struct gi_hash *hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    size_t n_block = size / 16;
    struct gi_hash h = *hash;
    for (size_t i = 0; i < n_block; i++) {
        add_block(&h, bytes + 16 * i);
    }
    if (size % 16) {
        add_tail(&h, bytes + 16 * n_block, size % 16);
    }
    h.lo ^= size;
    h.hi ^= size;
    h.lo += h.hi;
    h.hi += h.lo;
    h.lo = finalize(h.lo);
    h.hi = finalize(h.hi);
    h.lo += h.hi;
    h.hi += h.lo;
    *hash = h;
}

void gi_hash_text(const struct gi_hash *hash, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash->lo,
             (unsigned long long)hash->hi);
}
