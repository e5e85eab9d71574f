// Five scale words a super-block: word 0 holds f16 numbers of the super-block, half b % 2 of word
// 1 + b / 2 the two bytes of block b. A table of n_table words stands in front of all.
struct SuperScales {
    highp vec2 d;
    uint bytes; // of the block, in the low 16 bits
};

SuperScales super_scales(uint tile, uint block, uint n_block, uint row, uint n_table)
{
    SuperScales scales;
    uint at = n_table + quant_index(tile, block / 8u, n_block / 8u, 5u, row);
    scales.d = unpackHalf2x16(aux_at(at));
    scales.bytes = aux_at(at + (1u + (block / 2u & 3u)) * TILE_ROWS) >> ((block & 1u) * 16u);
    return scales;
}
