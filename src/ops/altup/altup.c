#include "ops/altup/altup.h"

#include "base/round.h"
#include "ops/gemv/gemv.h"

#include <assert.h>

#define WG_SIZE 64 // columns in fours

static bool is_batch(const struct gi_altup *altup)
{
    return altup->stream == NULL;
}

static bool wants_sums(const struct gi_recorder *recorder, const struct gi_altup *altup)
{
    return !is_batch(altup) && gi_gemv_wants_sums(recorder->gpu);
}

// Returns the groups of a token: one in a batch.
static uint32_t groups_of(const struct gi_recorder *recorder, const struct gi_altup *altup)
{
    const uint32_t wg_size = gi_recorder_wg_size(recorder, WG_SIZE);
    return is_batch(altup) ? 1 : gi_divide_up(altup->params.n_embd / 4, wg_size);
}

static struct gi_range residual_range(const struct gi_altup *altup)
{
    return is_batch(altup) ? altup->x.range : altup->stream->range;
}

static struct gi_program_key make_key(const struct gi_recorder *recorder, enum gi_program_id id)
{
    return GI_KEY(id, {"WG_SIZE", gi_recorder_wg_size(recorder, WG_SIZE)});
}

// Makes the dispatch of a step also write the norm and the sums that the next projection reads.
static void note_stream(const struct gi_recorder *recorder, const struct gi_altup *altup)
{
    if (!is_batch(altup)) {
        altup->stream->n_ssq = groups_of(recorder, altup);
        altup->stream->has_sums = wants_sums(recorder, altup);
        altup->stream->is_parted = false;
        assert(altup->stream->n_ssq <= altup->stream->max_ssq);
    }
}

// Records a dispatch over all tokens, whose label, bindings and writes are set. y, which may be
// NULL, has n vectors a token, side the branch.
static void record(struct gi_recorder *recorder, const struct gi_altup *altup,
                   const struct gi_rows *y, uint32_t n, const struct gi_rows *side,
                   const struct gi_program_key *key, struct gi_dispatch *dispatch)
{
    const struct gi_stream *stream = altup->stream;
    struct gi_altup_params params = altup->params;
    const uint32_t n_embd = params.n_embd, n_group = groups_of(recorder, altup);
    assert(n_embd % 64 == 0 && altup->rows.stride >= GI_ALTUP_STREAMS * n_embd);
    assert(!stream || altup->rows.stride >= gi_altup_step_width(n_embd));
    assert(!y || (!y->is_half && y->stride >= n * n_embd));
    (void)n;
    params.stride = altup->rows.stride;
    params.x_stride = altup->x.stride;
    params.y_stride = y ? y->stride : 0;
    params.side_stride = side ? side->stride : 0;
    params.n_step = n_group * gi_recorder_wg_size(recorder, WG_SIZE);
    if (stream) {
        params.residual = stream->residual;
        params.norm = stream->norm;
        params.ssq = stream->ssq;
        params.l_begin = gi_altup_branch(n_embd);
        params.z_begin = gi_altup_joined(n_embd);
    }
    dispatch->params = &params;
    dispatch->params_size = sizeof(params);
    dispatch->grid = gi_grid_rows(n_group, is_batch(altup));
    gi_recorder_add(recorder, key, dispatch);
}

void gi_op_altup_embed(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup)
{
    const struct gi_program_key key = make_key(recorder, GI_PROGRAM_ALTUP_EMBED);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, residual_range(altup), y->range},
    };
    record(recorder, altup, y, GI_ALTUP_STREAMS - 1, NULL, &key, &dispatch);
}

void gi_op_altup_predict(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                         const struct gi_altup *altup)
{
    struct gi_program_key key = make_key(recorder, GI_PROGRAM_ALTUP_PREDICT);
    gi_key_define(&key, "BATCH", is_batch(altup));
    gi_key_define(&key, "HAS_INPUT", y != NULL);
    gi_key_define(&key, "WRITE_SUMS", wants_sums(recorder, altup));
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, residual_range(altup), altup->vectors->range,
                     y ? y->range : (struct gi_range){0}},
        .writes = 1u << 0 | 1u << 1,
    };
    note_stream(recorder, altup);
    record(recorder, altup, y, 1, NULL, &key, &dispatch);
}

void gi_op_laurel_join(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup)
{
    const struct gi_rows *side = is_batch(altup) ? &altup->branch : &altup->rows;
    struct gi_program_key key = make_key(recorder, GI_PROGRAM_LAUREL_JOIN);
    gi_key_define(&key, "BATCH", is_batch(altup));
    gi_key_define(&key, "WRITE_SUMS", wants_sums(recorder, altup));
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {residual_range(altup), y->range, altup->vectors->range, side->range},
        .writes = is_batch(altup) ? 1u << 0 : 1u << 0 | 1u << 3,
    };
    note_stream(recorder, altup);
    record(recorder, altup, y, 1, side, &key, &dispatch);
}

void gi_op_altup_correct(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                         const struct gi_altup *altup)
{
    struct gi_program_key key = make_key(recorder, GI_PROGRAM_ALTUP_CORRECT);
    gi_key_define(&key, "BATCH", is_batch(altup));
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, residual_range(altup), altup->vectors->range, y->range},
        .writes = 1u << 0 | 1u << 1,
    };
    record(recorder, altup, y, 1, NULL, &key, &dispatch);
}

void gi_op_altup_add(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                     const struct gi_altup *altup)
{
    const struct gi_program_key key = make_key(recorder, GI_PROGRAM_ALTUP_ADD);
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {altup->rows.range, y->range, altup->vectors->range},
    };
    record(recorder, altup, y, 1, NULL, &key, &dispatch);
}

void gi_op_altup_merge(struct gi_recorder *recorder, const char *label, const struct gi_rows *y,
                       const struct gi_altup *altup)
{
    struct gi_program_key key = make_key(recorder, GI_PROGRAM_ALTUP_MERGE);
    gi_key_define(&key, "BATCH", is_batch(altup));
    gi_key_define(&key, "WRITE_SUMS", wants_sums(recorder, altup));
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {residual_range(altup), altup->rows.range, altup->vectors->range, y->range},
    };
    note_stream(recorder, altup);
    record(recorder, altup, y, GI_ALTUP_STREAMS - 1, NULL, &key, &dispatch);
}
