#include "engine/model/weight_store.h"

#include "base/array.h"
#include "base/round.h"
#include "base/thread_pool.h"
#include "engine/model/adapter/adapter_load.h"
#include "engine/model/plan/plan_rows.h"
#include "engine/model/plan/plan_tensors.h"
#include "gpu/memory/copy_log.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 2 << 20, N_CHUNKS = 2 };

struct chunk_memory {
    uint8_t *rows; // as in the file
    uint32_t *quads, *scales;
    size_t rows_capacity, quads_capacity, scales_capacity; // bytes
};

// Rows [begin, end) of a source, from byte `at` of the rows in memory on.
struct row_range {
    uint32_t begin, end;
    size_t at;
};

// Neighbouring tiles of a part: their rows are read, repacked by a pool and then written.
struct chunk {
    const struct gi_model_plan *plan;
    const struct gi_plan_weight *weight;
    const struct gi_weight_part *part;
    uint32_t first, n_tiles;             // n_tiles 0: nothing to write
    size_t quads_size, scales_size;      // bytes of a tile
    struct gi_range quads_to, scales_to; // of the first
    struct row_range rows[GI_MAX_SOURCES];
    float *const *factors; // of the matrices of each source; NULL: 1. Borrowed from load_weight
    atomic_bool is_faulty; // a row has weights that are not finite
    struct chunk_memory memory; // owned
};

struct loader {
    struct gi_gpu *gpu;
    const struct gi_model_plan *plan;
    glinfer_progress_fn progress;
    void *user;
    uint64_t done, total; // bytes of the file
    struct gi_thread_pool *pool;
    struct chunk chunks[N_CHUNKS]; // one is repacked while the one before is written
    uint32_t n_begun;              // chunks
    struct glinfer_error *err;
};

static bool report(struct loader *loader, uint64_t bytes)
{
    loader->done += bytes;
    if (loader->progress &&
        !loader->progress(loader->user, GLINFER_PHASE_LOAD, loader->done, loader->total)) {
        return gi_error_set(loader->err, GLINFER_STATUS_CANCELLED, "loading was cancelled");
    }
    return true;
}

//-- tiles ---------------------------------------------------------------------------------------

// Finds which rows of each source a chunk needs, and where in memory they go. Returns their bytes.
static size_t find_rows(struct chunk *chunk)
{
    enum { ALIGNMENT = 32 };
    const struct gi_plan_weight *weight = chunk->weight;
    const uint32_t first = chunk->first * GI_TILE_ROWS;
    size_t size = 0;
    memset(chunk->rows, 0, sizeof(chunk->rows));
    for (uint32_t i = 0; i < chunk->n_tiles * GI_TILE_ROWS; i++) {
        uint32_t source, row;
        if (gi_plan_weight_row(chunk->plan, weight, chunk->part, first + i, &source, &row)) {
            struct row_range *rows = &chunk->rows[source];
            rows->begin = rows->end == 0 || row < rows->begin ? row : rows->begin;
            rows->end = row < rows->end ? rows->end : row + 1;
        }
    }
    for (uint32_t i = 0; i < weight->n_sources; i++) {
        struct row_range *rows = &chunk->rows[i];
        rows->at = size;
        size += (rows->end - rows->begin) * gi_plan_kept_size(&weight->sources[i]);
        size = gi_round_up(size, ALIGNMENT);
    }
    return size;
}

static bool read_rows(struct chunk *chunk, struct glinfer_error *err)
{
    const struct gi_plan_weight *weight = chunk->weight;
    struct chunk_memory *memory = &chunk->memory;
    bool ok = gi_array_grow(&memory->rows, &memory->rows_capacity, find_rows(chunk), 1,
                            "a chunk of weights", err);
    for (uint32_t i = 0; ok && i < weight->n_sources; i++) {
        const struct row_range *rows = &chunk->rows[i];
        const struct gi_plan_source *source = &weight->sources[i];
        const uint64_t size = gi_plan_row_size(source->tensor);
        ok = source->n_tap > 0
                 ? gi_read_taps(chunk->plan->gguf, source, rows->begin, rows->end - rows->begin,
                                memory->rows + rows->at, err)
                 : gi_gguf_tensor_read(chunk->plan->gguf, source->tensor, rows->begin * size,
                                       (rows->end - rows->begin) * size, memory->rows + rows->at,
                                       err);
    }
    return ok;
}

static void repack_tile(void *user, uint32_t item)
{
    struct chunk *chunk = user;
    const struct gi_plan_weight *weight = chunk->weight;
    const void *rows[GI_TILE_ROWS] = {NULL};
    float factors[GI_TILE_ROWS];
    const uint32_t first = (chunk->first + item) * GI_TILE_ROWS;
    for (uint32_t i = 0; i < GI_TILE_ROWS; i++) {
        uint32_t source, row;
        factors[i] = 1;
        if (!gi_plan_weight_row(chunk->plan, weight, chunk->part, first + i, &source, &row)) {
            continue;
        }
        factors[i] = gi_plan_factor(weight, chunk->factors, source, row);
        assert(weight->sources[source].tensor->type->type == chunk->part->quant->type);
        const struct row_range *range = &chunk->rows[source];
        rows[i] = chunk->memory.rows + range->at +
                  (row - range->begin) * gi_plan_kept_size(&weight->sources[source]) +
                  gi_plan_row_offset(chunk->plan, weight, chunk->part, first + i);
        if (!gi_quant_is_finite(chunk->part->quant, rows[i], weight->weight.n_cols)) {
            chunk->is_faulty = true;
        }
    }
    gi_quant_repack_tile(chunk->part->quant, rows, weight->weight.n_cols,
                         chunk->memory.quads + item * (chunk->quads_size / 4),
                         chunk->memory.scales + item * (chunk->scales_size / 4));
    for (uint32_t i = 0; i < GI_TILE_ROWS && chunk->part->quant->factor_word > 0; i++) {
        gi_quant_set_factor(chunk->part->quant, i, weight->weight.n_cols, factors[i],
                            chunk->memory.scales + item * (chunk->scales_size / 4));
    }
}

static bool grow_chunk(struct chunk *chunk, struct glinfer_error *err)
{
    struct chunk_memory *memory = &chunk->memory;
    return gi_array_grow(&memory->quads, &memory->quads_capacity,
                         chunk->n_tiles * chunk->quads_size, 1, "a chunk of weights", err) &&
           gi_array_grow(&memory->scales, &memory->scales_capacity,
                         chunk->n_tiles * chunk->scales_size + 4, 1, "a chunk of weights", err);
}

static bool write_range(struct loader *loader, const struct gi_range *to, const void *data,
                        size_t size)
{
    return size == 0 ||
           gi_buffer_write(to->buffer, loader->gpu, to->offset, data, size, loader->err);
}

// Fails with the name of the tensor of the first row of a chunk whose weights are not finite.
static bool refuse_chunk(const struct chunk *chunk, struct glinfer_error *err)
{
    const struct gi_plan_weight *weight = chunk->weight;
    const struct gi_gguf_tensor *tensor = weight->sources[0].tensor;
    for (uint32_t i = weight->n_sources; i-- > 0;) {
        const struct row_range *range = &chunk->rows[i];
        const struct gi_gguf_tensor *own = weight->sources[i].tensor;
        for (uint32_t row = range->begin; row < range->end; row++) {
            const uint8_t *at = chunk->memory.rows + range->at +
                                (row - range->begin) * gi_plan_kept_size(&weight->sources[i]);
            if (!gi_quant_is_finite(chunk->part->quant, at, weight->weight.n_cols)) {
                tensor = own;
            }
        }
    }
    return gi_plan_refuse_tensor(chunk->plan->gguf, tensor, err);
}

static bool write_chunk(struct loader *loader, struct chunk *chunk)
{
    const uint32_t n = chunk->n_tiles;
    chunk->n_tiles = 0;
    return n == 0 ||
           ((!chunk->is_faulty || refuse_chunk(chunk, loader->err)) &&
            write_range(loader, &chunk->quads_to, chunk->memory.quads, n * chunk->quads_size) &&
            write_range(loader, &chunk->scales_to, chunk->memory.scales, n * chunk->scales_size) &&
            report(loader, 0));
}

// Reads a chunk while the last one is repacked, begins to repack it, and writes the last one in the
// meantime.
static bool begin_chunk(struct loader *loader, const struct chunk *wanted)
{
    struct chunk *chunk = &loader->chunks[loader->n_begun % N_CHUNKS];
    struct chunk *last = &loader->chunks[(loader->n_begun + 1) % N_CHUNKS];
    const struct chunk_memory memory = chunk->memory;
    *chunk = *wanted;
    chunk->memory = memory;
    if (!read_rows(chunk, loader->err) || !grow_chunk(chunk, loader->err)) {
        chunk->n_tiles = 0;
        return false;
    }
    gi_thread_pool_end(loader->pool);
    gi_thread_pool_begin(loader->pool, repack_tile, chunk, chunk->n_tiles);
    loader->n_begun++;
    return write_chunk(loader, last);
}

static bool end_chunks(struct loader *loader)
{
    gi_thread_pool_end(loader->pool);
    for (uint32_t i = 0; i < N_CHUNKS; i++) { // one at most is left
        if (!write_chunk(loader, &loader->chunks[i])) {
            return false;
        }
    }
    return true;
}

static bool load_tiles(struct loader *loader, const struct gi_plan_weight *weight,
                       const struct gi_weight_part *part, float *const factors[GI_MAX_SOURCES])
{
    const struct gi_range aux = part->aux;
    const size_t n_cols = weight->weight.n_cols;
    struct chunk chunk = {
        .plan = loader->plan,
        .weight = weight,
        .part = part,
        .factors = factors,
        .quads_size = gi_quant_quads_size(part->quant, GI_TILE_ROWS, n_cols),
        .scales_size = gi_quant_scales_size(part->quant, GI_TILE_ROWS, n_cols),
        .quads_to = part->quads,
        .scales_to = aux,
    };
    const size_t table_size = part->quant->table ? part->quant->table_words * sizeof(uint32_t) : 0;
    const uint32_t n_tiles = part->n_rows / GI_TILE_ROWS;
    const uint32_t most =
        chunk.quads_size > CHUNK_BYTES ? 1 : (uint32_t)(CHUNK_BYTES / chunk.quads_size);
    bool ok = write_range(loader, &aux, part->quant->table, table_size);
    chunk.scales_to.offset += part->quant->table_words * sizeof(uint32_t);
    for (; ok && chunk.first < n_tiles; chunk.first += most) {
        chunk.n_tiles = n_tiles - chunk.first < most ? n_tiles - chunk.first : most;
        ok = begin_chunk(loader, &chunk);
        chunk.quads_to.offset += most * chunk.quads_size;
        chunk.scales_to.offset += most * chunk.scales_size;
    }
    return ok;
}

//-- vectors -------------------------------------------------------------------------------------

// Writes the element of each GPU row of the part in the vector that belongs to the row's tensor.
static bool load_vector(struct loader *loader, const struct gi_plan_weight *weight,
                        const struct gi_weight_part *part, struct gi_range aux, uint32_t offset,
                        const struct gi_gguf_tensor *const vectors[GI_MAX_SOURCES])
{
    if (offset == GI_NO_OFFSET) {
        return true;
    }
    float *values[GI_MAX_SOURCES] = {NULL};
    float *out = gi_array_zeroed(part->n_rows, sizeof(*out), weight->name, loader->err);
    bool ok = out;
    for (uint32_t i = 0; ok && i < weight->n_sources; i++) {
        const size_t n = vectors[i] ? (size_t)(vectors[i]->dims[0] * vectors[i]->dims[1]) : 0;
        values[i] = gi_array_zeroed(n, sizeof(float), weight->name, loader->err);
        ok = values[i] &&
             (n == 0 || gi_read_vector(loader->plan->gguf, vectors[i], n, values[i], loader->err));
    }
    for (uint32_t row = 0; ok && row < part->n_rows; row++) {
        uint32_t source, source_row;
        if (gi_plan_weight_row(loader->plan, weight, part, row, &source, &source_row) &&
            vectors[source]) {
            out[row] = values[source][source_row];
        }
    }
    aux.offset += sizeof(float) * (uint64_t)offset;
    ok = ok && write_range(loader, &aux, out, part->n_rows * sizeof(float));
    for (uint32_t i = 0; i < GI_MAX_SOURCES; i++) {
        free(values[i]);
    }
    free(out);
    return ok;
}

// Writes the number that a weight may have.
static bool load_scale(struct loader *loader, const struct gi_plan_weight *weight,
                       const struct gi_weight_part *part)
{
    float value;
    struct gi_range aux = part->aux;
    aux.offset += sizeof(float) * (uint64_t)part->scale;
    return part->scale == GI_NO_OFFSET ||
           (gi_read_vector(loader->plan->gguf, weight->scale, 1, &value, loader->err) &&
            write_range(loader, &aux, &value, sizeof(value)));
}

// Reads the numbers by which the matrices of each source are multiplied. The caller frees them.
static bool read_factors(struct loader *loader, const struct gi_plan_weight *weight,
                         float *factors[GI_MAX_SOURCES])
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < weight->n_sources; i++) {
        const struct gi_gguf_tensor *tensor = weight->sources[i].factor;
        if (tensor) {
            factors[i] = gi_array_zeroed(tensor->dims[0], sizeof(float), weight->name, loader->err);
            ok = factors[i] && gi_read_vector(loader->plan->gguf, tensor, tensor->dims[0],
                                              factors[i], loader->err);
        }
    }
    return ok;
}

static bool load_part(struct loader *loader, struct gi_weight_store *store, uint32_t index,
                      const struct gi_weight_part *part, float *const factors[GI_MAX_SOURCES])
{
    const struct gi_plan_weight *weight = &loader->plan->weights[index];
    const struct gi_gguf_tensor *biases[GI_MAX_SOURCES] = {NULL};
    const struct gi_gguf_tensor *gammas[GI_MAX_SOURCES] = {weight->gamma};
    const struct gi_gguf_tensor *posts[GI_MAX_SOURCES] = {weight->post};
    for (uint32_t i = 0; i < weight->n_sources; i++) {
        biases[i] = weight->sources[i].bias;
    }
    return load_tiles(loader, weight, part, factors) &&
           load_vector(loader, weight, part, part->aux, part->bias, biases) &&
           gi_adapter_load_b(loader->gpu, loader->plan, weight, part, loader->err) &&
           load_vector(loader, weight, part, part->aux, part->gamma, gammas) &&
           load_vector(loader, weight, part, part->aux, part->post, posts) &&
           load_scale(loader, weight, part) &&
           gi_weight_samples_keep(&store->samples, loader->plan, index, part, factors, loader->err);
}

static bool load_weight(struct loader *loader, struct gi_weight_store *store, uint32_t index)
{
    const struct gi_plan_weight *weight = &loader->plan->weights[index];
    const struct gi_weight *target = &store->weights[index];
    float *factors[GI_MAX_SOURCES] = {NULL};
    uint64_t bytes = 0;
    const struct gi_weight_part *part = target->parts;
    if (weight->adapts) {
        return gi_adapter_load_a(loader->gpu, loader->plan, weight, part, &store->samples,
                                 loader->err);
    }
    for (uint32_t i = 0; i < weight->n_sources; i++) {
        bytes += weight->sources[i].row_begin == 0 ? weight->sources[i].tensor->size : 0;
    }
    bool ok = read_factors(loader, weight, factors);
    for (uint32_t i = 0; ok && i < target->n_parts; i++) {
        ok = load_part(loader, store, index, part++, factors);
    }
    ok = ok && end_chunks(loader) && report(loader, bytes);
    gi_thread_pool_end(loader->pool); // after a failure, too, so that no item reads factors
    for (uint32_t i = 0; i < GI_MAX_SOURCES; i++) {
        free(factors[i]);
    }
    return ok;
}

//-- the store -----------------------------------------------------------------------------------

static bool copy_weights(struct gi_weight_store *store, const struct gi_model_plan *plan,
                         struct glinfer_error *err)
{
    store->n_weights = plan->n_weights;
    if (!GI_ARRAYS_ZEROED("the list of weights", err, GI_NEW(store->weights, plan->n_weights),
                          GI_NEW(store->names, plan->n_weights))) {
        return false;
    }
    for (uint32_t i = 0; i < plan->n_weights; i++) {
        store->weights[i] = plan->weights[i].weight;
        memcpy(store->names[i], plan->weights[i].name, sizeof(store->names[0]));
        store->weights[i].name = store->names[i];
    }
    gi_adapter_link(plan, store->weights);
    return true;
}

// The buffers that weights are to lie in where few are wanted: each may be bound twice, as quads
// and as words, and most devices have 16 storage blocks.
enum { WANTED_BUFFERS = 3 };

// Returns true if two weights have the same program.
static bool is_alike(const struct gi_weight *a, const struct gi_weight *b)
{
    return a->n_rows == b->n_rows && a->n_cols == b->n_cols && a->n_parts == b->n_parts &&
           gi_weight_quant(a) == gi_weight_quant(b);
}

static uint32_t find_kind(const struct gi_weight_store *store, uint32_t weight)
{
    uint32_t kind = 0;
    while (!is_alike(&store->weights[kind], &store->weights[weight])) {
        kind++;
    }
    return kind;
}

// Gives every part its place; the ranges of a part follow each other in its slot.
static bool place_parts(struct gi_weight_store *store, const struct gi_model_plan *plan,
                        struct gi_gpu *gpu, struct glinfer_error *err)
{
    const uint32_t alignment = gi_arena_alignment(gi_gpu_limits(gpu));
    uint32_t n = 0;
    for (uint32_t i = 0; i < store->n_weights; i++) {
        n += plan->weights[i].same ? 0 : store->weights[i].n_parts;
    }
    uint64_t *sizes;
    uint32_t *kinds;
    struct gi_range *ranges;
    bool ok = GI_ARRAYS_ZEROED("the list of weights", err, GI_NEW(sizes, n), GI_NEW(kinds, n),
                               GI_NEW(ranges, n));
    for (uint32_t i = 0, slot = 0; ok && i < store->n_weights; i++) {
        const uint32_t kind = find_kind(store, i);
        const uint32_t n_part = plan->weights[i].same ? 0 : store->weights[i].n_parts;
        for (uint32_t j = 0; j < n_part; j++, slot++) {
            sizes[slot] = gi_plan_part_size(&store->weights[i].parts[j], alignment);
            kinds[slot] = kind;
        }
    }
    const struct gi_arena_request request = {.sizes = sizes,
                                             .kinds = kinds,
                                             .n = n,
                                             .n_kind = store->n_weights,
                                             .n_wanted = WANTED_BUFFERS,
                                             .label = "weights"};
    ok = ok && gi_arena_place(&store->arena, gpu, &request, ranges, err);
    for (uint32_t i = 0, slot = 0; ok && i < store->n_weights; i++) {
        const struct gi_plan_weight *same = plan->weights[i].same;
        if (same) {
            const char *name = store->weights[i].name;
            store->weights[i] = store->weights[same - plan->weights];
            store->weights[i].name = name;
        }
        for (uint32_t j = 0; !same && j < store->weights[i].n_parts; j++) {
            struct gi_weight_part *part = &store->weights[i].parts[j];
            part->quads.buffer = part->aux.buffer = ranges[slot].buffer;
            part->quads.offset += ranges[slot].offset;
            part->aux.offset += ranges[slot++].offset;
        }
    }
    free(sizes);
    free(kinds);
    free(ranges);
    return ok;
}

static void release(struct loader *loader)
{
    if (loader->pool) {
        gi_thread_pool_end(loader->pool); // a failure may have left items
    }
    gi_thread_pool_destroy(loader->pool);
    for (uint32_t i = 0; i < N_CHUNKS; i++) {
        free(loader->chunks[i].memory.rows);
        free(loader->chunks[i].memory.quads);
        free(loader->chunks[i].memory.scales);
    }
}

bool gi_weight_store_load(struct gi_weight_store *store, struct gi_gpu *gpu,
                          const struct gi_model_plan *plan, glinfer_progress_fn progress,
                          void *user, struct glinfer_error *err)
{
    struct loader loader = {
        .gpu = gpu, .plan = plan, .progress = progress, .user = user, .err = err};
    for (size_t i = 0; i < gi_gguf_tensor_count(plan->gguf); i++) {
        loader.total += gi_gguf_tensor_at(plan->gguf, i)->size;
    }
    memset(store, 0, sizeof(*store));
    loader.pool = gi_thread_pool_create(0);
    bool ok = (loader.pool || gi_error_no_memory(err, 1, "threads that load weights")) &&
              copy_weights(store, plan, err) && place_parts(store, plan, gpu, err);
    for (uint32_t i = 0; ok && i < plan->n_weights; i++) {
        ok = plan->weights[i].same || load_weight(&loader, store, i);
    }
    ok = ok && gi_copy_log_check(gpu, err) && gi_gpu_check(gpu, "loading weights", err);
    release(&loader);
    if (!ok) {
        gi_weight_store_finish(store, gpu);
    }
    return ok;
}

void gi_weight_store_finish(struct gi_weight_store *store, struct gi_gpu *gpu)
{
    gi_arena_finish(&store->arena, gpu);
    gi_weight_samples_finish(&store->samples);
    free(store->weights);
    free(store->names);
    memset(store, 0, sizeof(*store));
}
