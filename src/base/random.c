#include "base/random.h"

#define N_ROUND 10

static void mix_counter(uint32_t c[4], const uint32_t key[2])
{
    uint64_t a = (uint64_t)0xD2511F53u * c[0];
    uint64_t b = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t c1 = c[1], c3 = c[3];
    c[0] = (uint32_t)(b >> 32) ^ c1 ^ key[0];
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c3 ^ key[1];
    c[3] = (uint32_t)a;
}

void gi_philox(uint64_t seed, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    for (int round = 0; round < N_ROUND; round++) {
        mix_counter(c, key);
        key[0] += 0x9E3779B9u; // Weyl sequence: golden ratio and sqrt(3) - 1
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) {
        out[i] = c[i];
    }
}
