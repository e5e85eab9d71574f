// Little-endian numbers at any address, on any host: how files store them.
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint16_t gi_load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t gi_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t gi_load_u64(const uint8_t *p)
{
    return gi_load_u32(p) | (uint64_t)gi_load_u32(p + 4) << 32;
}

static inline float gi_load_f32(const uint8_t *p)
{
    uint32_t bits = gi_load_u32(p);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline double gi_load_f64(const uint8_t *p)
{
    uint64_t bits = gi_load_u64(p);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline void gi_store_u32(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    p[2] = (uint8_t)(value >> 16);
    p[3] = (uint8_t)(value >> 24);
}
