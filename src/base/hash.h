// A 128-bit hash for cache keys; it does not resist an adversary.
//   MurmurHash3_x64_128 by Austin Appleby (public domain): the first call of gi_hash_add gives the
//   published value for seed 0, each further one starts from the value before it.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gi_hash {
    uint64_t lo, hi;
};

void gi_hash_init(struct gi_hash *hash);
// Adds one field. The ends of fields count: "ab" then "c" differs from "a" then "bc".
void gi_hash_add(struct gi_hash *hash, const void *data, size_t size);
// Writes 32 hexadecimal digits and a 0.
void gi_hash_text(const struct gi_hash *hash, char text[33]);
