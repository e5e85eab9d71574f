// Saves and restores the memory that the self-test of a list writes.
#include "base/array.h"
#include "engine/selftest/selftest_run.h"
#include "gpu/device/fence.h"

#include <stdlib.h>

struct gi_selftest_piece {
    struct gi_range range;
    uint8_t *bytes; // range.size of them
};

static bool is_within(const struct gi_range *inner, const struct gi_range *outer)
{
    return inner->buffer == outer->buffer && inner->offset >= outer->offset &&
           inner->offset + inner->size <= outer->offset + outer->size;
}

static bool keep_range(const struct gi_selftest_run *run, const struct gi_range *range,
                       struct gi_selftest_kept *kept)
{
    bool is_kept = !range->buffer || range->size == 0;
    for (size_t i = 0; i < kept->count; i++) {
        is_kept = is_kept || is_within(range, &kept->pieces[i].range);
    }
    if (is_kept) {
        return true;
    }
    if (!gi_array_grow(&kept->pieces, &kept->capacity, kept->count + 1, sizeof(*kept->pieces),
                       "the self-test", run->err)) {
        return false;
    }
    struct gi_selftest_piece *piece = &kept->pieces[kept->count++];
    *piece = (struct gi_selftest_piece){*range, malloc(range->size)};
    return piece->bytes ? gi_buffer_read(range->buffer, gi_selftest_gpu(run), range->offset,
                                         piece->bytes, range->size, run->err)
                        : gi_error_no_memory(run->err, range->size, "the self-test");
}

//-- caches ----------------------------------------------------------------------------------------

// Returns the number of cache positions that the tests of the list read or write.
static uint32_t count_positions(const struct gi_selftest_run *run)
{
    const struct gi_joint *joint = run->tested.joint;
    uint32_t n = run->state.n_past + run->state.n_tokens;
    for (uint32_t i = 0; joint && run->slots && i < joint->n_slots; i++) {
        const uint32_t n_slot = run->slots[i].n_past + run->slots[i].n_tokens;
        n = n_slot > n ? n_slot : n;
    }
    return n;
}

// Saves the query and the first positions of a layer's cache, since a cache may be large.
static bool keep_positions(const struct gi_selftest_run *run, const struct gi_kv_layer *layer,
                           struct gi_selftest_kept *kept)
{
    struct gi_cache_plane planes[GI_CACHE_PLANES];
    const uint32_t n = count_positions(run);
    struct gi_range query = layer->range;
    query.size = (uint64_t)layer->n_head * layer->head_dim * sizeof(float);
    bool ok = keep_range(run, &query, kept);
    gi_kv_layer_planes(layer, planes);
    for (uint32_t i = 0; ok && i < GI_CACHE_PLANES; i++) {
        for (uint32_t head = 0; ok && head < layer->n_kv_head; head++) {
            struct gi_range rows = layer->range;
            rows.offset += planes[i].offset + head * planes[i].head_stride;
            rows.size = (uint64_t)(n < layer->n_ctx ? n : layer->n_ctx) * planes[i].row_size;
            ok = keep_range(run, &rows, kept);
        }
    }
    return ok;
}

// Saves the first positions of all slots' caches if a binding is a layer's cache, and sets
// *is_cache.
static bool keep_cache(const struct gi_selftest_run *run, const struct gi_range *binding,
                       struct gi_selftest_kept *kept, bool *is_cache)
{
    const struct gi_graph *graph = run->tested.graph;
    const struct gi_joint *joint = run->tested.joint;
    bool ok = true;
    *is_cache = false;
    for (uint32_t i = 0; i < graph->hparams->n_layer && !*is_cache; i++) {
        const bool is_shared = gi_layer_kind(graph->hparams, i) == GI_LAYER_CROSS;
        const struct gi_slot_array *arrays = joint && !is_shared ? joint->kv : NULL;
        struct gi_kv_layer layer = graph->kv_cache[i];
        *is_cache = binding->buffer && is_within(binding, arrays ? &arrays[i].range : &layer.range);
        for (uint32_t slot = 0; *is_cache && ok && slot < (arrays ? joint->n_slots : 1); slot++) {
            layer.range = arrays ? gi_slot_range(&arrays[i], slot) : layer.range;
            ok = keep_positions(run, &layer, kept);
        }
    }
    return ok;
}

//-- all of a list ---------------------------------------------------------------------------------

// Returns true for rows that a batch computes and reads itself: they are free between two lists of
// one sequence, while those of a joint step may be in use by a partly submitted step.
static bool is_scratch(const struct gi_selftest_run *run, const struct gi_range *range)
{
    const struct gi_graph *graph = run->tested.graph;
    const struct gi_rows *const rows[] = {&graph->norm,   &graph->qkv,         &graph->q,
                                          &graph->attn,   &graph->ffn_gate_up, &graph->ffn_act_rows,
                                          &graph->inputs, &graph->stream_rows};
    bool is_scratch = false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        is_scratch = is_scratch || is_within(range, &rows[i]->range);
    }
    return is_scratch && !run->tested.joint;
}

static bool keep_bindings(const struct gi_selftest_run *run, const struct gi_dispatch *dispatch,
                          struct gi_selftest_kept *kept)
{
    const struct gi_program_key *key =
        gi_program_key(run->tested.recorder->programs, dispatch->program);
    const uint32_t n =
        key->quant == GI_QUANT_NONE ? GI_MAX_BINDINGS : 2; // weights stay as they are
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct gi_range *range = &dispatch->bindings[i];
        bool is_cache;
        ok = keep_cache(run, range, kept, &is_cache) &&
             (is_cache || is_scratch(run, range) || keep_range(run, range, kept));
    }
    return ok;
}

static void forget(struct gi_selftest_kept *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        free(kept->pieces[i].bytes);
    }
    free(kept->pieces);
    *kept = (struct gi_selftest_kept){0};
}

bool gi_selftest_keep(const struct gi_selftest_run *run, struct gi_selftest_kept *kept)
{
    const struct gi_joint *joint = run->tested.joint;
    bool ok = keep_range(run, &run->tested.state, kept) &&
              (!joint || keep_range(run, &joint->state.range, kept)) &&
              keep_range(run, &run->tested.graph->x.range, kept) &&
              keep_range(run, &run->tested.graph->tokens, kept);
    for (uint32_t i = 0; ok && i < gi_dispatch_table_count(run->list); i++) {
        ok = !gi_selftest_is_chosen(run, i) ||
             keep_bindings(run, gi_dispatch_table_at(run->list, i), kept);
    }
    if (!ok) {
        forget(kept);
    }
    return ok;
}

bool gi_selftest_restore(const struct gi_selftest_run *run, struct gi_selftest_kept *kept, bool ok)
{
    struct gi_gpu *gpu = gi_selftest_gpu(run);
    struct glinfer_error late = {0};
    atomic_bool *watched = gi_gpu_watch(gpu, NULL);
    bool is_back = true;
    for (size_t i = 0; is_back && i < kept->count; i++) {
        const struct gi_selftest_piece *piece = &kept->pieces[i];
        is_back = gi_buffer_write(piece->range.buffer, gpu, piece->range.offset, piece->bytes,
                                  piece->range.size, &late);
    }
    gi_gpu_watch(gpu, watched);
    forget(kept);
    return ok && (is_back || gi_error_pass(run->err, &late));
}
