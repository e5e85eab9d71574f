#include "engine/session/saved/cache_rows.h"

#include "base/array.h"
#include "gpu/memory/readback.h"

#include <stdlib.h>

#define CHUNK_SIZE (1u << 20) // bytes that are on their way at once

uint32_t gi_cache_rows_size(const struct gi_sequence *sequence, const struct gi_hparams *hparams)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        const struct gi_kv_layer *layer = &sequence->cache[i];
        size += gi_keeps_rows(hparams, i)
                    ? layer->n_kv_head * (gi_cache_row_size(layer->type_k, layer->head_dim) +
                                          gi_cache_row_size(layer->type_v, layer->head_dim))
                    : 0;
    }
    return size;
}

//-- states ----------------------------------------------------------------------------------------

static uint64_t state_size(const struct gi_hparams *hparams)
{
    return hparams->recurrent.state_size * sizeof(float);
}

// A layer's state, or a copy of it.
struct state_place {
    const struct gi_buffer *buffer; // borrowed; NULL: there is none
    uint64_t offset;                // bytes
};

// Returns the place of a layer's state in the checkpoint of n tokens; 0: the state itself.
static struct state_place find_state(const struct gi_sequence *sequence,
                                     const struct gi_hparams *hparams, uint32_t layer, uint32_t n)
{
    const struct gi_range *state = &sequence->states[layer];
    uint64_t offset = 0;
    for (uint32_t i = 0; i < layer; i++) {
        offset += gi_keeps_state(hparams, i) ? state_size(hparams) : 0;
    }
    for (uint32_t i = 0; n > 0 && i < GI_MAX_CHECKPOINTS; i++) {
        if (sequence->checkpoints[i].n == n) {
            return (struct state_place){&sequence->checkpoints[i].buffer, offset};
        }
    }
    return n == 0 ? (struct state_place){state->buffer, state->offset}
           : n == sequence->n_copied
               ? (struct state_place){state->buffer, state->offset + state_size(hparams)}
               : (struct state_place){0};
}

void gi_cache_states_copy(const struct gi_sequence *to, uint32_t n_to,
                          const struct gi_sequence *from, uint32_t n_from,
                          const struct gi_hparams *hparams, struct gi_gpu *gpu)
{
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        if (gi_keeps_state(hparams, i)) {
            const struct state_place target = find_state(to, hparams, i, n_to);
            const struct state_place source = find_state(from, hparams, i, n_from);
            gi_buffer_copy(target.buffer, gpu, target.offset, source.buffer, source.offset,
                           state_size(hparams));
        }
    }
}

//-- runs ------------------------------------------------------------------------------------------

// Walks over the runs of bytes that the first n tokens have: a layer's state, and one for each
// plane of each head; then the states of checkpoints.
struct run_walk {
    const struct gi_sequence *sequence;
    const struct gi_hparams *hparams;
    const struct gi_state_head *head; // lists the checkpoints that follow; NULL: none
    uint32_t n;
    uint32_t layer, plane, head_index; // the next run's
    bool is_after_state;               // of the layer
    uint32_t checkpoint, checkpoint_layer;
};

struct row_run {
    const struct gi_buffer *buffer; // NULL: of a checkpoint that the sequence has no place for
    uint64_t offset, size;          // bytes
};

static void next_layer(struct run_walk *walk)
{
    walk->layer++;
    walk->is_after_state = false;
}

static struct row_run next_rows(struct run_walk *walk)
{
    const struct gi_kv_layer *layer = &walk->sequence->cache[walk->layer];
    struct gi_cache_plane planes[GI_CACHE_PLANES];
    gi_kv_layer_planes(layer, planes);
    const struct gi_cache_plane *plane = &planes[walk->plane];
    const struct row_run run = {
        .buffer = layer->range.buffer,
        .offset = layer->range.offset + plane->offset + walk->head_index * plane->head_stride,
        .size = (uint64_t)walk->n * plane->row_size,
    };
    walk->head_index++;
    if (walk->head_index == layer->n_kv_head) {
        walk->head_index = 0;
        walk->plane = (walk->plane + 1) % GI_CACHE_PLANES;
        if (walk->plane == 0) {
            next_layer(walk);
        }
    }
    return run;
}

// Returns the run of a layer's state, or of its copy in the checkpoint of n tokens.
static struct row_run state_run(const struct run_walk *walk, uint32_t layer, uint32_t n)
{
    const struct state_place place = find_state(walk->sequence, walk->hparams, layer, n);
    return (struct row_run){place.buffer, place.offset, state_size(walk->hparams)};
}

static bool next_checkpoint_run(struct run_walk *walk, struct row_run *run)
{
    while (walk->n > 0 && walk->head && walk->checkpoint < walk->head->n_checkpoints) {
        const uint32_t layer = walk->checkpoint_layer;
        *run = state_run(walk, layer, walk->head->checkpoints[walk->checkpoint]);
        walk->checkpoint_layer = layer + 1 < walk->hparams->n_layer ? layer + 1 : 0;
        walk->checkpoint += walk->checkpoint_layer == 0;
        if (gi_keeps_state(walk->hparams, layer)) {
            return true;
        }
    }
    return false;
}

static bool next_run(struct run_walk *walk, struct row_run *run)
{
    const struct gi_hparams *hparams = walk->hparams;
    while (walk->n > 0 && walk->layer < hparams->n_layer) {
        if (gi_keeps_state(hparams, walk->layer) && !walk->is_after_state) {
            *run = state_run(walk, walk->layer, 0);
            walk->is_after_state = true;
            return true;
        }
        if (!gi_keeps_rows(hparams, walk->layer)) {
            next_layer(walk);
            continue;
        }
        *run = next_rows(walk);
        if (run->size > 0) {
            return true;
        }
    }
    return next_checkpoint_run(walk, run);
}

bool gi_cache_rows_copy(struct gi_sequence *to, const struct gi_sequence *from,
                        const struct gi_hparams *hparams, uint32_t n, struct gi_gpu *gpu,
                        struct glinfer_error *err)
{
    struct run_walk target = {.sequence = to, .hparams = hparams, .n = n};
    struct run_walk source = {.sequence = from, .hparams = hparams, .n = n};
    struct row_run a, b;
    while (next_run(&target, &a) && next_run(&source, &b)) {
        gi_buffer_copy(a.buffer, gpu, a.offset, b.buffer, b.offset, a.size);
    }
    return gi_gpu_check(gpu, "copying a session", err);
}

//-- save ------------------------------------------------------------------------------------------

static void drain(struct gi_readback *readback, struct gi_gpu *gpu, struct gi_state_writer *writer)
{
    struct glinfer_error *failure = &writer->failure;
    const void *rows =
        gi_readback_end(readback, gpu, failure) ? gi_readback_wait(readback, gpu, failure) : NULL;
    if (rows) {
        gi_state_write(writer, rows, readback->size);
    }
    gi_readback_begin(readback);
}

// Fetches a run, as much of it at a time as the readback has room for.
static void save_run(const struct row_run *run, struct gi_readback *readback, struct gi_gpu *gpu,
                     struct gi_state_writer *writer)
{
    for (uint64_t done = 0, n; done < run->size && !writer->failure.status; done += n) {
        const uint64_t room = readback->capacity - readback->size, left = run->size - done;
        n = left < room ? left : room;
        gi_readback_add_checked(readback, gpu, run->buffer, run->offset + done, n);
        if (readback->size == readback->capacity) {
            drain(readback, gpu, writer);
        }
    }
}

void gi_cache_rows_save(const struct gi_sequence *sequence, const struct gi_hparams *hparams,
                        struct gi_gpu *gpu, const struct gi_state_head *head,
                        struct gi_state_writer *writer)
{
    struct run_walk walk = {
        .sequence = sequence, .hparams = hparams, .head = head, .n = head->n_rows};
    struct gi_readback readback;
    struct row_run run;
    if (writer->failure.status || !gi_readback_init(&readback, gpu, CHUNK_SIZE, &writer->failure)) {
        return;
    }
    gi_readback_begin(&readback);
    while (!writer->failure.status && next_run(&walk, &run)) {
        save_run(&run, &readback, gpu, writer);
    }
    if (!writer->failure.status && readback.size > 0) {
        drain(&readback, gpu, writer);
    }
    gi_readback_finish(&readback, gpu);
}

//-- load ------------------------------------------------------------------------------------------

// Reads a run that lies at an offset of the source's rows, in chunks.
static bool load_run(const struct row_run *run, uint64_t at, struct gi_gpu *gpu,
                     const struct gi_source *source, const struct gi_state_head *head, void *chunk,
                     struct glinfer_error *err)
{
    for (uint64_t done = 0, n; done < run->size; done += n) {
        n = run->size - done < CHUNK_SIZE ? run->size - done : CHUNK_SIZE;
        if (!gi_state_read_rows(source, head, at + done, n, chunk, err) ||
            !gi_buffer_write(run->buffer, gpu, run->offset + done, chunk, n, err)) {
            return false;
        }
    }
    return true;
}

bool gi_cache_rows_load(struct gi_sequence *sequence, const struct gi_hparams *hparams,
                        struct gi_gpu *gpu, const struct gi_source *source,
                        const struct gi_state_head *head, uint32_t n, struct glinfer_error *err)
{
    struct run_walk walk = {.sequence = sequence, .hparams = hparams, .head = head, .n = n};
    struct run_walk whole = walk; // the runs of the source, which are longer if n is smaller
    struct row_run run, from;
    void *chunk = gi_array_zeroed(CHUNK_SIZE, 1, "rows of a saved session", err);
    bool ok = chunk != NULL;
    whole.n = head->n_rows;
    for (uint64_t at = 0; ok && next_run(&walk, &run) && next_run(&whole, &from); at += from.size) {
        ok = !run.buffer || load_run(&run, at, gpu, source, head, chunk, err);
    }
    free(chunk);
    return ok;
}
