// The term of low-rank adapters, which a product adds to its bias: for a row
//
//   sum over j < ADAPTER_RANK of B[row][j] * scale[j] * t[j]      t = A x, of an entry before
//
//   source  at vec4 ADAPTER_AT: scale (ADAPTER_RANK), padded to 16 vec4, then t, whose columns belong
//           to the matrices that the weight stacks in turn, ADAPTER_RANK each. With ADAPTER_SPLITS,
//           which needs PIPELINED, t is the sum of that many vectors, ADAPTER_STRIDE vec4 apart.
//   aux     after the bias, tile by tile: a word for each of 8 rows, the vec4 of t that begin the
//           columns of the row's matrix; then ADAPTER_RANK / 2 times 8 words, pairs of halves of B
#ifndef ADAPTER_SPLITS
#define ADAPTER_SPLITS 1
#define ADAPTER_STRIDE 0
#endif
#define ADAPTER_WORDS uint(ADAPTER_RANK / 2 + 1)
#define ADAPTER_T     (uint(ADAPTER_AT) + uint((ADAPTER_RANK + 63) / 64 * 16))

// Place of a row's words.
uint gemv_adapter_at(uint tile, uint row)
{
    return params.bias + params.n_pair * 16u + tile * 8u * ADAPTER_WORDS + row;
}

// Columns 4 i to 4 i + 3 of the row whose words are at `at`.
uvec2 gemv_adapter_columns(uint at, uint i)
{
    return uvec2(aux_at(at + 16u * i + 8u), aux_at(at + 16u * i + 16u));
}

float gemv_adapter_dot(uvec2 columns, vec4 x)
{
    highp vec2 low = unpackHalf2x16(columns.x), high = unpackHalf2x16(columns.y);
    return dot(x, vec4(low, high));
}

#if ADAPTER_IS_BIAS
float gemv_adapter_row(uint tile, uint row)
{
    uint at = gemv_adapter_at(tile, row), t = ADAPTER_T + aux_at(at);
    float sum = 0.0;
    for (uint i = 0u; i < uint(ADAPTER_RANK / 4); i++) {
        vec4 x = gemv_source(uint(ADAPTER_AT) + i) * gemv_source(t + i);
        sum += gemv_adapter_dot(gemv_adapter_columns(at, i), x);
    }
    return sum;
}

vec2 gemv_adapter(uint pair, uint row)
{
    uvec2 tiles = gemv_tiles(pair);
    return vec2(gemv_adapter_row(tiles.x, row), gemv_adapter_row(tiles.y, row));
}
#endif
