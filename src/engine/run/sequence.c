#include "engine/run/sequence.h"

#include "base/array.h"

#include <stdlib.h>

bool gi_sequence_init(struct gi_sequence *sequence, uint32_t n_layer, const struct gi_kv_layer *kv,
                      const struct gi_range *ranges, struct glinfer_error *err)
{
    sequence->cache = gi_array_zeroed(n_layer, sizeof(sequence->cache[0]), "a sequence", err);
    for (uint32_t i = 0; sequence->cache && i < n_layer; i++) {
        sequence->cache[i] = *kv;
        sequence->cache[i].range = ranges[i];
    }
    gi_sequence_reset(sequence);
    return sequence->cache;
}

void gi_sequence_finish(struct gi_sequence *sequence)
{
    free(sequence->cache);
    *sequence = (struct gi_sequence){0};
}

void gi_sequence_reset(struct gi_sequence *sequence)
{
    sequence->n_past = 0;
    sequence->pending = GI_NO_TOKEN;
}

size_t gi_sequence_rewind(struct gi_sequence *sequence, size_t n)
{
    if (n > sequence->n_past) {
        return sequence->n_past + (size_t)(sequence->pending != GI_NO_TOKEN);
    }
    sequence->n_past = (uint32_t)n;
    sequence->pending = GI_NO_TOKEN;
    return n;
}
