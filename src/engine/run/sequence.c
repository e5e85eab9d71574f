#include "engine/run/sequence.h"

#include <stdlib.h>

bool gi_sequence_init(struct gi_sequence *sequence, struct gi_gpu *gpu, uint32_t n_layer,
                      const struct gi_kv_layer *kv, uint64_t kv_size, struct glinfer_error *err)
{
    struct gi_range *ranges = calloc(n_layer, sizeof(*ranges));
    uint64_t *sizes = calloc(n_layer, sizeof(*sizes));
    const struct gi_arena_request request = {
        .sizes = sizes, .n = n_layer, .n_wanted = 1, .label = "cache"};
    sequence->cache = calloc(n_layer, sizeof(sequence->cache[0]));
    bool ok = ranges && sizes && sequence->cache;
    if (!ok) {
        gi_error_no_memory(err, n_layer * sizeof(*ranges), "a sequence");
    }
    for (uint32_t i = 0; ok && i < n_layer; i++) {
        sizes[i] = kv_size;
    }
    ok = ok && gi_arena_place(&sequence->arena, gpu, &request, ranges, err);
    for (uint32_t i = 0; ok && i < n_layer; i++) {
        sequence->cache[i] = *kv;
        sequence->cache[i].range = ranges[i];
    }
    free(sizes);
    free(ranges);
    gi_sequence_reset(sequence);
    return ok;
}

void gi_sequence_finish(struct gi_sequence *sequence, struct gi_gpu *gpu)
{
    gi_arena_finish(&sequence->arena, gpu);
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
