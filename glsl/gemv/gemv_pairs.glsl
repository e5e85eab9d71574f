// For kernels whose pairs are two neighbouring tiles: an owner has rows r and r + 8 of 16 that
// follow each other.
uvec2 gemv_tiles(uint pair)
{
    return uvec2(2u * pair, 2u * pair + 1u);
}

// Elements of a vector in aux for both rows.
vec2 gemv_aux(uint begin, uint pair, uint row)
{
    uint at = begin + pair * 16u + row;
    return uintBitsToFloat(uvec2(aux_at(at), aux_at(at + 8u)));
}
