// Scale words that hold the f16 d of two blocks, the even one low, in groups of n_word words; the
// other words of the group follow. A kernel that prefetches weights (PIPELINED) has the word as it
// was loaded: whatever is done to it would wait for it.
#ifdef PIPELINED
#define SCALES_AS_LOADED PIPELINED
#else
#define SCALES_AS_LOADED 0
#endif

#if SCALES_AS_LOADED
#define PairedScale uint

uint paired_shift = 0u; // of the blocks that are at work: 16 if they are odd

float scale_of(PairedScale d)
{
    highp vec2 pair = unpackHalf2x16(d >> paired_shift);
    return pair.x;
}

PairedScale paired_scale(uint tile, uint block, uint n_block, uint row, uint n_word)
{
    return aux_at(quant_index(tile, block / 2u, (n_block + 1u) / 2u, n_word, row));
}

// Takes a word apart into the scales of two neighbouring blocks.
void part_scales(uint word, out PairedScale even, out PairedScale odd)
{
    even = odd = word;
}
#else
#define PairedScale float
#define scale_of(d) (d)

float paired_scale(uint tile, uint block, uint n_block, uint row, uint n_word)
{
    uint at = quant_index(tile, block / 2u, (n_block + 1u) / 2u, n_word, row);
    highp vec2 d = unpackHalf2x16(aux_at(at));
    return (block & 1u) == 0u ? d.x : d.y;
}

void part_scales(uint word, out PairedScale even, out PairedScale odd)
{
    highp vec2 d = unpackHalf2x16(word);
    even = d.x;
    odd = d.y;
}
#endif
