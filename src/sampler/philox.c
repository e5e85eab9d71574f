#include "sampler/philox.h"

#include <math.h>

enum {
    STREAM_CHOICE = 0, // as the GPU's, whose counter is { position, id, 0, 0 }
    STREAM_USE = 1,
};

void gi_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t x = counter[0], y = counter[1], z = counter[2], w = counter[3];
    for (int i = 0; i < 10; i++) {
        const uint64_t a = UINT64_C(0xD2511F53) * x, b = UINT64_C(0xCD9E8D57) * z;
        x = (uint32_t)(b >> 32) ^ y ^ k0;
        z = (uint32_t)(a >> 32) ^ w ^ k1;
        y = (uint32_t)b;
        w = (uint32_t)a;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    out[0] = x;
    out[1] = y;
    out[2] = z;
    out[3] = w;
}

static double uniform(uint64_t seed, uint32_t position, uint32_t word, uint32_t stream)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {position, word, stream, 0};
    uint32_t out[4];
    gi_philox(key, counter, out);
    return (out[0] + 0.5) / 4294967296.0;
}

double gi_philox_uniform(uint64_t seed, uint32_t position, uint32_t use)
{
    return uniform(seed, position, use, STREAM_USE);
}

double gi_philox_gumbel(uint64_t seed, uint32_t position, uint32_t id)
{
    return -log(-log1p(-uniform(seed, position, id, STREAM_CHOICE)));
}
