// Embeddings of a step's token, of a batch and of the slots of a joint list, and what is added to
// them.
#include "ops/embed/inputs.h"
#include "ops/gemv/gemv.h"
#include "tests/kernel/cases/cases_slots.h"
#include "tests/kernel/fixture/kernel_axes.h"
#include "tests/kernel/fixture/kernel_rows.h"

#include <stdio.h>

enum { N_VOCAB = 100 };

static const char *const parts[] = {"whole", "in parts"};
static const char *const stages[] = {"alone", "as a stage"};

#define COLUMNS KT_NUMBERS("columns", 32, 96, 1536)
#define PARTS   KT_NAMED("parts", 2, parts)

static struct gi_weight make_table(struct kt_run *run, uint32_t type, uint32_t n_cols,
                                   bool has_parts)
{
    run->state.token = kt_index(run, N_VOCAB);
    return kt_weight(run, &(struct kt_weight_params){.type = type,
                                                     .n_rows = N_VOCAB,
                                                     .n_cols = n_cols,
                                                     .max_part_rows = has_parts ? 48 : 0});
}

// Whole vec4 of vectors: a driver may give zeros for one that ends past the buffer, as softpipe
// does.
static uint64_t record_embed_token(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_rot = v[3], n_past = v[4];
    const struct gi_weight weight = make_table(run, v[0], v[1], v[2]);
    struct gi_stream stream = kt_stream(run, weight.n_cols, n_rot, 0, 1);
    struct gi_vectors vectors =
        kt_random_vectors(run, weight.n_cols + 4 + (n_past + 1) * n_rot / 4 * 4 + 4);
    vectors.rope = weight.n_cols + 4;
    if (!run->has_failed) {
        gi_op_embed_token(&run->recorder, &weight, &vectors, 4, 1.5f, &stream);
    }
    return 8ull * weight.n_cols;
}

static const struct kt_axis token_axes[] = {KT_ALL_TYPES, COLUMNS, PARTS,
                                            KT_NUMBERS("rotations", 2, 6, 128),
                                            KT_NUMBERS("past", 0, 1, 500)};
KT_DESCRIBE(embed_token, token_axes);

static uint64_t record_embed_batch(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_tokens = v[3];
    const struct gi_weight weight = make_table(run, v[0], v[1], v[2]);
    uint32_t tokens[512];
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = kt_index(run, N_VOCAB);
    }
    const struct gi_range range = kt_range(run, "tokens", tokens, n_tokens * sizeof(*tokens));
    const struct gi_rows x = kt_rows(run, "x", NULL, n_tokens, kt_pad32(weight.n_cols) + 32);
    if (!run->has_failed) {
        gi_op_embed_batch(&run->recorder, &weight, range, 0.5f, &x);
    }
    return 4ull * n_tokens * weight.n_cols;
}

static const struct kt_axis batch_axes[] = {KT_ALL_TYPES, COLUMNS, PARTS,
                                            KT_NUMBERS("tokens", 1, 7, 33, 512)};
KT_DESCRIBE(embed_batch, batch_axes);

static uint64_t record_embed_row(struct kt_run *run, const uint32_t *v)
{
    const struct gi_weight weight = make_table(run, v[0], v[1], v[2]);
    const struct gi_rows x = kt_rows(run, "x", NULL, 1, kt_pad32(weight.n_cols));
    run->recorder.form.group_size = v[3] ? kt_uniform_size(run) : 0;
    if (!run->has_failed) {
        gi_op_embed_row(&run->recorder, &weight, 16, &x);
    }
    return 4ull * weight.n_cols;
}

static const struct kt_axis row_axes[] = {KT_TYPES(GI_GGML_TYPE_F16, GI_GGML_TYPE_Q8_0),
                                          KT_NUMBERS("columns", 96, 1120), PARTS,
                                          KT_NAMED("stage", 2, stages)};
KT_DESCRIBE(embed_row, row_axes);

// Rows of all slots are written. The token of one that is out is 0.
static bool run_joint(struct kt_run *run, size_t index)
{
    const uint32_t n = index == 0 ? 3 : GI_MAX_ROWS;
    const struct gi_weight weight = make_table(run, GI_GGML_TYPE_Q8_0, 96, true);
    const struct gi_rows x = kt_rows(run, "x", NULL, n, 128);
    struct kt_check checks[GI_MAX_ROWS];
    struct kt_slots slots;
    kt_slots_init(&slots, run, n, 8);
    for (uint32_t i = 0; i < n; i++) {
        slots.states[i].token = kt_index(run, N_VOCAB);
        checks[i] =
            (struct kt_check){.slot = i,
                              .n_past = slots.states[i].n_past,
                              .n_tokens = 1,
                              .token = slots.kinds[i] == KT_SLOT_OUT ? 0 : slots.states[i].token};
    }
    if (run->has_failed || !kt_slots_write(&slots, run)) {
        return false;
    }
    gi_op_embed_batch(&run->recorder, &weight, (struct gi_range){0}, 0.5f, &x);
    return kt_seal(run) && kt_check_states(run, checks, n, 8, n);
}

static void name_joint(size_t index, char *text, size_t size)
{
    snprintf(text, size, "%s slots", index == 0 ? "three" : "all");
}

const struct kt_suite kt_embed_joint = {"embed_joint", 2, name_joint, run_joint};

//-- positions -------------------------------------------------------------------------------------

static uint64_t record_add_positions(struct kt_run *run, const uint32_t *v)
{
    const uint32_t width = v[0], n_tokens = v[1], n_past = v[2];
    const struct gi_rows x = kt_random_rows(run, "x", n_tokens, kt_pad32(width) + 32, 4);
    const struct gi_vectors vectors =
        kt_random_vectors(run, 4 + (size_t)(n_past + n_tokens) * width);
    gi_op_add_positions(&run->recorder, &vectors, 4, width, &x, true);
    return 12ull * n_tokens * width;
}

static const struct kt_axis position_axes[] = {KT_NUMBERS("width", 8, 32, 384, 768),
                                               KT_NUMBERS("tokens", 1, 7, 33, 512),
                                               KT_NUMBERS("past", 0, 3)};
KT_DESCRIBE(add_positions, position_axes);

static bool run_positions_joint(struct kt_run *run, size_t index)
{
    enum { N_CTX = 8, WIDTH = 384 };
    const uint32_t n = index == 0 ? 3 : GI_MAX_ROWS;
    const struct gi_rows x = kt_random_rows(run, "x", n, WIDTH + 32, 4);
    const struct gi_vectors vectors = kt_random_vectors(run, 4 + N_CTX * WIDTH);
    struct kt_slots slots;
    kt_slots_init(&slots, run, n, N_CTX);
    gi_op_add_positions(&run->recorder, &vectors, 4, WIDTH, &x, true);
    return kt_seal(run) && kt_slots_check(&slots, run);
}

const struct kt_suite kt_positions_joint = {"positions_joint", 2, name_joint, run_positions_joint};
