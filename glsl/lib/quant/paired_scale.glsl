// Scale words that hold the f16 d of two blocks, the even one low.
float paired_scale(uint tile, uint block, uint n_block, uint row)
{
    uint n_scale = (n_block + 1u) / 2u;
    highp vec2 d = unpackHalf2x16(aux_at((tile * n_scale + block / 2u) * TILE_ROWS + row));
    return (block & 1u) == 0u ? d.x : d.y;
}
