// Scale words that hold the f16 d of two blocks, the even one low, in groups of n_word words; the
// other words of the group follow.
float paired_scale(uint tile, uint block, uint n_block, uint row, uint n_word)
{
    uint at = quant_index(tile, block / 2u, (n_block + 1u) / 2u, n_word, row);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    return (block & 1u) == 0u ? d.x : d.y;
}
