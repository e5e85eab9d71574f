// gemv_row.glsl with DOT for types of one bit, whose quads hold four blocks and whose weights are
// scale * (2 * bit - 1). Such a type says QUANT_FOUR 1 and defines
//
//   struct QuantRow
//   QuantRow quant_row(uint tile, uint n_block, uint row)
//   uvec4 quant_four(QuantRow row, uint four)           bit p + 16 h of word i is of weight 4 h + i of
//                                                       chunk p, of 16
//   float quant_four_scale(QuantRow row, uint four)
//   vec2 quant_four_scales(QuantRow row)                of quads 0 and 1
//   QuantRow quant_row_after(QuantRow row, uint fours)  the row from quad `fours` on, an even number
//
// A bit costs V3D, Mali and Adreno about as much as a nibble. So V3D looks up sums of x, and Mali G with
// several pairs multiplies x by numbers of eight bits. The other forms compute twice the sum of bit * x,
// less the sum of x.
#define N_ROW (2 * PAIRS)

#if DOT == DOT_HALVES
// V3D loads from a table in about four instructions. For each four elements of x whose bits are a
// nibble, n of four neighbouring chunks, there are the sums of them or their negatives by all values of
// the nibble.
#if SLICES > 1
#error "SLICES: tables are shared by the rows of a group, all of k"
#endif
#define TABLE_FOURS 2u // quads of weights whose tables are there at a time: 4 KiB
shared float tables[TABLE_FOURS * 32u * 16u];

void gemv_make_tables(uint four, uint n)
{
    for (uint i = gl_LocalInvocationIndex; i < 32u * n; i += uint(WG_SIZE)) {
        uint at = four * 32u + i / 8u * 8u + i % 8u / 4u, c = i % 4u;
        vec4 x = vec4(gemv_x(at)[c], gemv_x(at + 2u)[c], gemv_x(at + 4u)[c], gemv_x(at + 6u)[c]);
        vec2 p = vec2(x.x + x.y, x.x - x.y), q = vec2(x.z + x.w, x.z - x.w);
        vec4 low = vec4(-p.x, p.y, -p.y, p.x), high = vec4(-q.x, q.y, -q.y, q.x);
        for (uint k = 0u; k < 4u; k++) {
            vec4 v = low + high[k];
            tables[i * 16u + 4u * k] = v.x;
            tables[i * 16u + 4u * k + 1u] = v.y;
            tables[i * 16u + 4u * k + 2u] = v.z;
            tables[i * 16u + 4u * k + 3u] = v.w;
        }
    }
}

// The sum for nibble n of word i: an index that is a number of bytes divided by 4 takes no shift.
#define LOOK_UP(w, i, n)                                                                           \
    tables[(move_bits(w, 2 - 4 * (n)) & 60u) / 4u + uint(at + ((n) % 4 * 8 + (n) / 4 * 4 + (i)) * 16)]
#define LOOK_UP_HALF(w, i, n)                                                                      \
    ((LOOK_UP(w, i, n) + LOOK_UP(w, i, n + 1)) + (LOOK_UP(w, i, n + 2) + LOOK_UP(w, i, n + 3)))
#define LOOK_UP_WORD(w, i) (LOOK_UP_HALF(w, i, 0) + LOOK_UP_HALF(w, i, 4))

// Adds a quad whose tables begin at a place.
void gemv_add(uint four, int at, QuantRow rows[N_ROW], inout float y[N_ROW])
{
    for (int i = 0; i < N_ROW; i++) {
        uvec4 w = quant_four(rows[i], four);
        y[i] += quant_four_scale(rows[i], four) * ((LOOK_UP_WORD(w.x, 0) + LOOK_UP_WORD(w.y, 1)) +
                                                   (LOOK_UP_WORD(w.z, 2) + LOOK_UP_WORD(w.w, 3)));
    }
}

void gemv_add_fours(uint slice, QuantRow rows[N_ROW], inout float y[N_ROW])
{
    uint n_four = params.n_block / 4u;
    for (uint four = 0u; four < n_four; four += TABLE_FOURS) {
        group_barrier();
        gemv_make_tables(four, min(n_four - four, TABLE_FOURS));
        group_barrier();
        gemv_add(four, 0, rows, y);
        if (four + 1u < n_four) {
            gemv_add(four + 1u, 512, rows, y);
        }
    }
}
#elif DOT == DOT_BYTES && PAIRS > 1
// Mali G converts any byte of a word in one instruction, but Valhall takes a mask as four, and
// Bifrost has no registers for the masked words of four rows. Without masks, byte c of a word that is
// shifted left by j is the number of the eight bits up to bit P = 8 c + 7 - j. With X_P, the x of bit
// P, and zeros past both ends,
//
//   sum of bit_P * X_P = sum of byte_P * Z_P / 128     Z_P = X_P - X_{P + 1} / 2 + Z_{P + 8} / 256
//
// The group keeps Z of two quads for each slice at a time, for all four words of a quad. Without
// slices a load of them takes no address, since their places are known to the compiler.
//
// BY_TWO is for Bifrost, which issues a conversion beside a multiply-add of two registers and a
// constant, but not beside one of three registers: two products join the sum times a constant.
#define TURN_FOURS (2 * SLICES)
#define BYTE_X_SIZE 34u // of a quad: Z_0 .. Z_31, then eight sums of x
shared vec4 byte_x[TURN_FOURS * 34];

// Computes Z_P of a quad for P = j, j + 8, j + 16 and j + 24; `at` is the index of X_j, `to` that of
// Z_j.
void gemv_make_byte_x(uint at, uint j, uint to)
{
    vec4 x3 = gemv_x(at + 17u), x2 = gemv_x(at + 1u), x1 = gemv_x(at + 16u), x0 = gemv_x(at);
    vec4 z = x3 - (j < 7u ? 0.5 : 0.0) * gemv_x(j < 7u ? at + 19u : at);
    byte_x[to + 24u] = z;
    z = x2 - 0.5 * gemv_x(at + 3u) + z / 256.0;
    byte_x[to + 16u] = z;
    z = x1 - 0.5 * gemv_x(j < 7u ? at + 18u : at - 13u) + z / 256.0;
    byte_x[to + 8u] = z;
    byte_x[to] = x0 - 0.5 * gemv_x(at + 2u) + z / 256.0;
#if !SUMS
    vec4 sum = (x0 + x1) + (x2 + x3);
    byte_x[to - j + 32u + j / 4u][j % 4u] = (sum.x + sum.y) + (sum.z + sum.w);
#endif
}

#ifndef BY_TWO
#define BY_TWO 0
#endif
#if BY_TWO
#define BYTE_X_SCALE    1.0
#define ADD_TWO(s, sum) s += (sum) / 64.0;
#else
#define BYTE_X_SCALE    64.0
#define ADD_TWO(s, sum) s += sum;
#endif

#define PRODUCT(c, k) float((w[i].k >> uint(8 * (c))) & 0xFFu) * z.k
#define ADD_BYTE(c, j)                                                                             \
    {                                                                                              \
        vec4 z = byte_x[at + uint((c) * 8 + 7 - (j))];                                            \
        for (int i = 0; i < N_ROW; i++) {                                                          \
            ADD_TWO(s[i], PRODUCT(c, x) + PRODUCT(c, y))                                           \
            ADD_TWO(s[i], PRODUCT(c, z) + PRODUCT(c, w))                                           \
        }                                                                                          \
    }
#define ADD_BYTES(j) ADD_BYTE(0, j) ADD_BYTE(1, j) ADD_BYTE(2, j) ADD_BYTE(3, j)
#define DOUBLE                                                                                     \
    for (int i = 0; i < N_ROW; i++) {                                                              \
        w[i] += w[i];                                                                              \
    }

// Sets s to BYTE_X_SCALE times the products of a quad without its scales. `at` is where its Z begin,
// sums_at where its sums of x do.
void gemv_add(uint four, uint at, uint sums_at, QuantRow rows[N_ROW], out float s[N_ROW])
{
    uvec4 w[N_ROW];
#if SUMS
    vec4 sums = gemv_x(sums_at) + gemv_x(sums_at + 1u);
#else
    vec4 sums = byte_x[at + 32u] + byte_x[at + 33u];
#endif
    float sum = -BYTE_X_SCALE * ((sums.x + sums.y) + (sums.z + sums.w));
    for (int i = 0; i < N_ROW; i++) {
        w[i] = quant_four(rows[i], four);
        s[i] = sum;
    }
    ADD_BYTES(0) DOUBLE ADD_BYTES(1) DOUBLE ADD_BYTES(2) DOUBLE ADD_BYTES(3) DOUBLE
    ADD_BYTES(4) DOUBLE ADD_BYTES(5) DOUBLE ADD_BYTES(6) DOUBLE ADD_BYTES(7)
}

void gemv_add_fours(uint slice, QuantRow rows[N_ROW], inout float y[N_ROW])
{
    uint n_four = params.n_block / 4u, i = gl_LocalInvocationIndex, j = i % 8u;
    uint from = i / 8u * 32u + 2u * j, to = i / 8u * BYTE_X_SIZE + j; // of the Z that it makes
    uint at = slice * 2u * BYTE_X_SIZE, sums_at = GEMV_BEHIND + 4u * slice;
    for (int r = 0; r < N_ROW; r++) {
        rows[r] = quant_row_after(rows[r], 2u * slice);
    }
    for (uint begin = 0u; begin < n_four; begin += uint(TURN_FOURS)) {
        group_barrier();
        for (int k = 0; k < (8 * TURN_FOURS + WG_SIZE - 1) / WG_SIZE; k++) {
            uint quad = i / 8u + uint(k * WG_SIZE / 8);
            if (quad < uint(TURN_FOURS) && begin + quad < n_four) {
                gemv_make_byte_x(from + uint(k * WG_SIZE * 4), j,
                                  to + uint(k * WG_SIZE / 8) * BYTE_X_SIZE);
            }
        }
        group_barrier();
        float s[N_ROW];
        vec2 d[N_ROW];
        uint four = begin + 2u * slice;
        if (SLICES == 1 || four < n_four) {
            gemv_add(0u, at, sums_at, rows, s);
            for (int r = 0; r < N_ROW; r++) {
                d[r] = quant_four_scales(rows[r]);
                y[r] += d[r].x * s[r];
            }
        }
        if (four + 1u < n_four) {
            gemv_add(1u, at + BYTE_X_SIZE, sums_at + 2u, rows, s);
            for (int r = 0; r < N_ROW; r++) {
                y[r] += d[r].y * s[r];
            }
        }
        from += uint(32 * TURN_FOURS);
        sums_at += uint(2 * TURN_FOURS);
        for (int r = 0; r < N_ROW; r++) {
            rows[r] = quant_row_after(rows[r], uint(TURN_FOURS));
        }
    }
    for (int r = 0; r < N_ROW; r++) {
        y[r] /= BYTE_X_SCALE;
    }
}
#else

#if SUMS
#define ADD_TO_SUM(v)
#else
#define ADD_TO_SUM(v) sums += v;
#endif

#if DOT == DOT_BITS
// Bit 30 alone is 2 as a float, and bit 29 is 2^-63: a shift for two bits, no conversion.
float bit_as_float(uint w, int place)
{
    return uintBitsToFloat(move_bits(w, 29 - place / 2 * 2) & (0x20000000u << uint(place % 2)));
}

#define ADD_BIT(word, place, x)                                                                    \
    if ((place) % 2 == 1) {                                                                        \
        s[i].p += bit_as_float(word, place) * (x);                                                 \
    } else {                                                                                       \
        s[i].r += bit_as_float(word, place) * (x);                                                 \
    }
#define ADD_BITS(place, v)                                                                         \
    ADD_BIT(w[i].x, place, (v).x)                                                                  \
    ADD_BIT(w[i].y, place, (v).y)                                                                  \
    ADD_BIT(w[i].z, place, (v).z)                                                                  \
    ADD_BIT(w[i].w, place, (v).w)

#define ADD_CHUNK(p)                                                                               \
    {                                                                                              \
        vec4 a = gemv_x(four * 32u + uint(2 * (p))), b = gemv_x(four * 32u + uint(2 * (p) + 1));   \
        ADD_TO_SUM(a + b)                                                                          \
        for (int i = 0; i < N_ROW; i++) {                                                          \
            ADD_BITS((p), a)                                                                       \
            ADD_BITS((p) + 16, b)                                                                  \
        }                                                                                          \
    }
#define ADD_CHUNKS(p) ADD_CHUNK(p) ADD_CHUNK(p + 1) ADD_CHUNK(p + 2) ADD_CHUNK(p + 3)
#define ADD_QUAD ADD_CHUNKS(0) ADD_CHUNKS(4) ADD_CHUNKS(8) ADD_CHUNKS(12)
#define TWICE_BITS(s) ((s).p + 18446744073709551616.0 * (s).r)

#elif DOT == DOT_BYTES
// Bits of four bytes where they lie: sums double from one to the next, the highest first.
void add_bytes(uvec4 w, vec4 a, vec4 b, vec4 c, vec4 d, inout DotSum s)
{
    s.p *= 2.0;
    dot_unsigned(w.x, vec4(a.x, c.x, b.x, d.x), s);
    dot_unsigned(w.y, vec4(a.y, c.y, b.y, d.y), s);
    dot_unsigned(w.z, vec4(a.z, c.z, b.z, d.z), s);
    dot_unsigned(w.w, vec4(a.w, c.w, b.w, d.w), s);
}

#define ADD_CHUNKS(q)                                                                              \
    {                                                                                              \
        uint at = four * 32u + uint(2 * (q)), mask = 0x01010101u << uint(q);                       \
        vec4 a = gemv_x(at), b = gemv_x(at + 1u), c = gemv_x(at + 16u), d = gemv_x(at + 17u);      \
        ADD_TO_SUM((a + b) + (c + d))                                                              \
        for (int i = 0; i < N_ROW; i++) {                                                          \
            add_bytes(w[i] & mask, a, b, c, d, s[i]);                                              \
        }                                                                                          \
    }
#define ADD_QUAD                                                                                   \
    ADD_CHUNKS(0) ADD_CHUNKS(1) ADD_CHUNKS(2) ADD_CHUNKS(3)                                        \
    ADD_CHUNKS(4) ADD_CHUNKS(5) ADD_CHUNKS(6) ADD_CHUNKS(7)
#define TWICE_BITS(s) ((s).p / 64.0)

#else // DOT_PLACES: bits where they lie, too
#define ADD_CHUNK(q)                                                                               \
    {                                                                                              \
        vec4 a = gemv_x(four * 32u + uint(2 * (q))), b = gemv_x(four * 32u + uint(2 * (q) + 1));   \
        ADD_TO_SUM(a + b)                                                                          \
        for (int i = 0; i < N_ROW; i++) {                                                          \
            s[i].p *= 2.0;                                                                         \
            s[i].p += vec4(ivec4(w[i] & (1u << uint(q)))) * a;                                     \
            s[i].p += vec4(ivec4((w[i] >> 16u) & (1u << uint(q)))) * b;                            \
        }                                                                                          \
    }
#define ADD_CHUNKS(q) ADD_CHUNK(q) ADD_CHUNK(q + 1) ADD_CHUNK(q + 2) ADD_CHUNK(q + 3)
#define ADD_QUAD ADD_CHUNKS(0) ADD_CHUNKS(4) ADD_CHUNKS(8) ADD_CHUNKS(12)
#define TWICE_BITS(s) ((((s).p.x + (s).p.y) + ((s).p.z + (s).p.w)) / 16384.0)
#endif

void gemv_add(uint four, QuantRow rows[N_ROW], inout float y[N_ROW])
{
    uvec4 w[N_ROW];
    DotSum s[N_ROW];
    for (int i = 0; i < N_ROW; i++) {
        w[i] = quant_four(rows[i], four);
        s[i] = dot_zero();
    }
#if SUMS
    vec4 sums = gemv_x(GEMV_BEHIND + 2u * four) + gemv_x(GEMV_BEHIND + 2u * four + 1u);
#else
    vec4 sums = vec4(0.0);
#endif
    ADD_QUAD
    float sum = (sums.x + sums.y) + (sums.z + sums.w);
    for (int i = 0; i < N_ROW; i++) {
        y[i] += quant_four_scale(rows[i], four) * (TWICE_BITS(s[i]) - sum);
    }
}

void gemv_add_fours(uint slice, QuantRow rows[N_ROW], inout float y[N_ROW])
{
    for (uint four = slice; four < params.n_block / 4u; four += uint(SLICES)) {
        gemv_add(four, rows, y);
    }
}
#endif

void gemv_walk(uvec2 tiles[PAIRS], uint row, uint slice, out vec2 y[PAIRS])
{
    QuantRow rows[N_ROW];
    float sums[N_ROW];
    for (int p = 0; p < PAIRS; p++) {
        rows[2 * p] = quant_row(tiles[p].x, params.n_block, row);
        rows[2 * p + 1] = quant_row(tiles[p].y, params.n_block, row);
        sums[2 * p] = sums[2 * p + 1] = 0.0;
    }
    gemv_add_fours(slice, rows, sums);
    for (int p = 0; p < PAIRS; p++) {
        y[p] = vec2(sums[2 * p], sums[2 * p + 1]);
    }
}
