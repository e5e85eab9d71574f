// Scale words that begin with the f16 d of two super-blocks of 8 blocks, the even one low, in
// groups of n_word words for the two, after a table of n_table words.
float super_pair_scale(uint tile, uint block, uint n_block, uint row, uint n_word, uint n_table)
{
    uint at = n_table + quant_index(tile, block / 16u, (n_block + 15u) / 16u, n_word, row);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    return (block & 8u) == 0u ? d.x : d.y;
}
