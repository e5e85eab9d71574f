// Five scale words a super-block: word 0 holds f16 numbers of the super-block, half b % 2 of word
// 1 + b / 2 the two bytes of block b. A table of n_table words precedes them.
struct SuperScales {
    highp vec2 d;
    uint bytes; // of the block, in the low 16 bits
};

// Loads those of block b of the super-block whose words begin at a place.
SuperScales super_scales_at(uint at, uint b)
{
    SuperScales scales;
    scales.d = unpackHalf2x16(aux_at(at));
    scales.bytes = aux_at(at + (1u + b / 2u) * TILE_ROWS) >> ((b & 1u) * 16u);
    return scales;
}

SuperScales super_scales(uint tile, uint block, uint n_block, uint row, uint n_table)
{
    return super_scales_at(n_table + quant_index(tile, block / 8u, n_block / 8u, 5u, row),
                           block & 7u);
}
