// Rows of types that have SUPER_QUADS quads and SUPER_WORDS scale words a row and super-block of 8
// blocks, by what such a type defines before it includes this file:
//
//   QuantBlock load_at(uint index, uint aux_index, uint b)    block b of the super-block whose quads
//                                                             and words begin there
QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    return load_at(quant_index(tile, block / 8u, n_block / 8u, SUPER_QUADS, row),
                   quant_index(tile, block / 8u, n_block / 8u, SUPER_WORDS, row), block & 7u);
}

#if DOT
struct QuantRow {
    uint quads, aux;
};

QuantRow quant_row(uint tile, uint n_block, uint row)
{
    return QuantRow(quant_index(tile, 0u, n_block / 8u, SUPER_QUADS, row),
                    quant_index(tile, 0u, n_block / 8u, SUPER_WORDS, row));
}

QuantBlock quant_at(QuantRow row, uint block, uint pair, uint odd)
{
    return load_at(row.quads + pair / 4u * (SUPER_QUADS * TILE_ROWS),
                   row.aux + pair / 4u * (SUPER_WORDS * TILE_ROWS), 2u * (pair & 3u) + odd);
}
#endif
