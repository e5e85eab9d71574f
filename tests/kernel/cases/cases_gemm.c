// Products of a batch of rows with weights, in every form that devices have: of few rows, which
// read a weight once for all of them, and of rows in f16.
#include "base/round.h"
#include "ops/gemm/batch.h"
#include "ops/gemm/half_rows.h"
#include "ops/gemm/pack_rows.h"
#include "tests/kernel/fixture/kernel_axes.h"
#include "tests/kernel/fixture/kernel_rows.h"

enum input {
    INPUT_F32,
    INPUT_TILES,
    INPUT_SMALL_TILES,
    INPUT_PACKED,
    INPUT_CONVERTED, // by the product, in f16
    INPUT_NORMED,    // the same, of the norm of x
};

static const struct form {
    const char *name, *batch, *gemm; // of GLINFER_BATCH, of GLINFER_GEMM
    enum input input;
    uint32_t least_room; // rows of x and y that the form needs; batches may have fewer
} forms[] = {
    {"split", "split", "narrow", INPUT_F32, 0},
    {"square", "split", "64x64:2", INPUT_F32, 0},
    {"thin", "split", "thin", INPUT_F32, 0},
    {"short", "split", "short", INPUT_F32, 0},
    {"low", "split", "low", INPUT_F32, 0},
    {"rolled", "split", "rolled", INPUT_F32, 0},
    {"wide", "split", "32x64:2", INPUT_F32, 0},
    {"lane", "lane", "narrow", INPUT_F32, 0},
    {"row", "row", "narrow", INPUT_F32, 0},
    {"few", "split", "few", INPUT_F32, 0},
    {"few by quads", "split", "few:64:4:2:8", INPUT_F32, 0},
    {"few by lane", "lane", "few", INPUT_F32, 0},
    {"64x64", "split", "64x64", INPUT_TILES, 0},
    {"128x64", "split", "128x64", INPUT_TILES, 0},
    {"64x64:2", "split", "64x64:2", INPUT_TILES, 0},
    {"small", "split", NULL, INPUT_SMALL_TILES, 0},
    {"narrow", "lane", "narrow", INPUT_PACKED, 0},
    {"rolled", "lane", "rolled", INPUT_PACKED, 0},
    {"two rows", "split", "2x8", INPUT_F32, 8},
    {"four rows", "split", "4x6", INPUT_F32, 8},
    {"many tokens", "split", "4x8", INPUT_F32, 8},
    {"converted", "split", NULL, INPUT_CONVERTED, 0},
    {"normed", "split", NULL, INPUT_NORMED, 0},
    {"64x32:4", "split", "64x32:4", INPUT_TILES, 0},
};

static const char *form_name(uint32_t form)
{
    return forms[form].name;
}

enum extra { PLAIN, BIAS, PARTS, ADDED, ALL, N_EXTRA };
static const char *const extras[] = {"plain", "bias", "in parts", "added",
                                     "in parts with bias, added"};

static const char *const size_names[] = {"x up to 1", "x up to 1e-4", "x up to 3e6",
                                         "x up to 1e-30", "x up to 1e30"};
static const float sizes[] = {1, 1e-4f, 3e6f, 1e-30f, 1e30f};

// Returns true if the device has the programs of an input, and the input's form that many tokens.
static bool is_available(const struct kt_run *run, enum input input, uint32_t n_tokens)
{
    const enum gi_program_id id =
        input == INPUT_TILES ? GI_PROGRAM_GEMM_HALF : GI_PROGRAM_GEMV_BATCH_HALF;
    return input == INPUT_F32 || input == INPUT_PACKED ||
           (gi_program_available(run->gpu, id) &&
            (input == INPUT_TILES || n_tokens <= GI_SMALL_BATCH));
}

// Returns true if the device has the tile of a form: one takes weights by words, in 48 KiB.
static bool has_tile(const struct kt_run *run, const struct form *form, uint32_t type)
{
    const bool is_by_words = form->gemm && strcmp(form->gemm, "64x32:4") == 0;
    return !is_by_words ||
           (gi_quant_find(type)->has_words && gi_gpu_limits(run->gpu)->max_shared_size >= 48 << 10);
}

// Records the conversion of rows in f32 to the form that the product reads.
static void record_input(struct kt_run *run, enum input input, uint32_t n_tokens, uint32_t n_cols,
                         const struct gi_weight *weight, struct gi_rows *x)
{
    if (input == INPUT_PACKED) {
        run->recorder.packs_rows = true;
        gi_op_pack_rows(&run->recorder, "pack_rows", x, n_cols, weight);
        if (!x->is_half) {
            kt_fail(run, "rows are not packed");
        }
    } else if (input != INPUT_F32) {
        // Small tiles are in the room of rows in f32, where the library decides whether they fit.
        // Large tiles get a room of their own, as the library uses them for no fewer than 64
        // tokens.
        const bool is_small = input == INPUT_SMALL_TILES;
        const uint64_t size = is_small ? (uint64_t)n_tokens * n_cols * sizeof(float)
                                       : gi_half_rows_size(n_tokens, n_cols);
        struct gi_rows halves = {kt_range(run, "halves", NULL, (size_t)size), n_cols, !is_small};
        run->recorder.is_half = true;
        halves = is_small ? gi_half_rows(&run->recorder, &halves) : halves;
        if (!halves.is_half) {
            kt_fail(run, "rows have no room for tiles");
            return;
        }
        gi_op_half_rows(&run->recorder, "half_rows", x, n_cols, &halves);
        *x = halves;
    }
}

// Records the product of rows x in f32 in a form.
static void record_form(struct kt_run *run, const struct form *form, uint32_t n_tokens,
                        const struct gi_weight *weight, struct gi_rows x, bool is_added,
                        float scale, const struct gi_rows *y)
{
    kt_set(run, "GLINFER_BATCH", form->batch);
    kt_set(run, "GLINFER_GEMM", form->gemm);
    if (!run->has_failed) {
        record_input(run, form->input, n_tokens, weight->n_cols, weight, &x);
    }
    if (!run->has_failed) {
        gi_op_gemm(&run->recorder, "gemm", weight, &x, is_added, scale, y);
    }
}

// Records the product of rows x in f32 that converts them. Leaves out rows that are too wide for a
// norm.
static void record_converted(struct kt_run *run, const struct form *form,
                             const struct gi_weight *weight, const struct gi_rows *x, bool is_added,
                             float scale, const struct gi_rows *y)
{
    const struct gi_vectors vectors = kt_random_vectors(run, 4 + weight->n_cols);
    const struct gi_row_norm norm = {&vectors, 4, 1e-5f};
    const bool is_normed = form->input == INPUT_NORMED;
    kt_set(run, "GLINFER_BATCH", form->batch);
    kt_set(run, "GLINFER_GEMM", form->gemm);
    run->recorder.is_half = true;
    const bool is_taken = gi_gemm_converts(&run->recorder, weight, x, is_normed);
    run->is_left_out = !is_taken && is_normed && weight->n_cols > 1024;
    if (!is_taken && !run->is_left_out) {
        kt_fail(run, "rows are not converted");
    } else if (!run->has_failed && is_taken) {
        gi_op_gemm_converted(&run->recorder, "gemm", weight, x, is_normed ? &norm : NULL, is_added,
                             scale, y);
    }
}

// Axes: type, form, tokens, rows, columns, what the product has, size of x.
static uint64_t record_product(struct kt_run *run, const uint32_t *v)
{
    const struct form *form = &forms[v[1]];
    const uint32_t n_tokens = v[2], n_rows = v[3];
    const enum extra extra = (enum extra)v[5];
    const bool is_added = extra == ADDED || extra == ALL;
    run->is_left_out = !is_available(run, form->input, n_tokens) || !has_tile(run, form, v[0]);
    if (run->is_left_out) {
        return 0;
    }
    const struct gi_weight weight = kt_weight(
        run, &(struct kt_weight_params){
                 .type = v[0],
                 .n_rows = n_rows,
                 .n_cols = v[4],
                 .max_part_rows = extra == PARTS || extra == ALL ? n_rows / 32 * 16 + 16 : 0,
                 .has_bias = extra == BIAS || extra == ALL});
    const uint32_t n_cols = weight.n_cols;
    const bool is_own = form->input == INPUT_CONVERTED || form->input == INPUT_NORMED;
    const uint32_t x_stride = form->input == INPUT_F32 || is_own ? kt_pad32(n_cols) + 32 : n_cols;
    const uint32_t n_room = gi_max_u32(n_tokens, form->least_room);
    const struct gi_rows x = kt_random_rows(run, "x", n_room, x_stride, sizes[v[6]]);
    const struct gi_rows y = kt_random_rows(run, "y", n_room, kt_pad32(n_rows) + 32, 1);
    if (is_own) {
        record_converted(run, form, &weight, &x, is_added, 0.75f, &y);
        return kt_weight_bytes(&weight);
    }
    record_form(run, form, n_tokens, &weight, x, is_added, 0.75f, &y);
    return kt_weight_bytes(&weight);
}

// Products of rows that overlap, as a convolution has them: a row begins where the one before has
// its second tap. Axes: type, form, tokens, rows, columns.
static uint64_t record_gemm_overlap(struct kt_run *run, const uint32_t *v)
{
    enum { STRIDE = 32 };
    const struct form *form = &forms[v[1]];
    run->is_left_out = !is_available(run, form->input, v[2]);
    if (run->is_left_out) {
        return 0;
    }
    const struct gi_weight weight =
        kt_weight(run, &(struct kt_weight_params){.type = v[0], .n_rows = v[3], .n_cols = v[4]});
    const struct gi_rows x = kt_random_rows(run, "x", v[2] + weight.n_cols / STRIDE, STRIDE, 1);
    const struct gi_rows y = kt_random_rows(run, "y", v[2], kt_pad32(v[3]), 1);
    record_form(run, form, v[2], &weight, x, false, 1, &y);
    return kt_weight_bytes(&weight);
}

#define record_gemm                record_product
#define record_gemm_quant          record_product
#define record_gemm_unscaled       record_product
#define record_gemv_batch          record_product
#define record_gemm_half           record_product
#define record_gemm_half_quant     record_product
#define record_gemm_half_small     record_product
#define record_gemm_half_converted record_product
#define record_packed              record_product

static const struct kt_axis gemm_axes[] = {KT_TYPES(GI_GGML_TYPE_F32, GI_GGML_TYPE_F16,
                                                    GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1,
                                                    GI_GGML_TYPE_Q8_0),
                                           KT_CHOICES("form", form_name, 0, 1, 2, 3, 4, 5, 6, 7, 8),
                                           KT_NUMBERS("tokens", 1, 7, 32, 33, 65, 130),
                                           KT_NUMBERS("rows", 16, 80, 144),
                                           KT_NUMBERS("columns", 32, 96, 576, 1536),
                                           KT_NAMED("with", N_EXTRA, extras),
                                           KT_NAMED("size", 1, size_names)};
KT_DESCRIBE(gemm, gemm_axes);

// All weight types: in a form of each way of reading, with more tokens than a tile.
static const struct kt_axis quant_axes[] = {KT_ALL_TYPES,
                                            KT_CHOICES("form", form_name, 5, 6, 7),
                                            KT_NUMBERS("tokens", 33),
                                            KT_NUMBERS("rows", 48),
                                            KT_NUMBERS("columns", 768),
                                            KT_NAMED("with", 2, extras),
                                            KT_NAMED("size", 1, size_names)};
KT_DESCRIBE(gemm_quant, quant_axes);

static const struct kt_axis few_axes[] = {KT_ALL_TYPES,
                                          KT_CHOICES("form", form_name, 9, 10, 11),
                                          KT_NUMBERS("tokens", 1, 3, 16),
                                          KT_NUMBERS("rows", 80, 2064),
                                          KT_NUMBERS("columns", 96, 768),
                                          KT_NAMED("with", N_EXTRA, extras),
                                          KT_NAMED("size", 1, size_names)};
KT_DESCRIBE(gemv_batch, few_axes);

#define HALF_TYPES                                                                                 \
    KT_TYPES(GI_GGML_TYPE_F32, GI_GGML_TYPE_F16, GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1,             \
             GI_GGML_TYPE_Q8_0, GI_GGML_TYPE_Q4_K, GI_GGML_TYPE_Q6_K, GI_GGML_TYPE_IQ3_S)

static const struct kt_axis half_axes[] = {
    KT_TYPES(GI_GGML_TYPE_F16, GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_K),
    KT_CHOICES("form", form_name, 12, 13, 14, 23),
    KT_NUMBERS("tokens", 1, 7, 33, 65, 130),
    KT_NUMBERS("rows", 16, 80, 144),
    KT_NUMBERS("columns", 32, 96, 416),
    KT_NAMED("with", N_EXTRA, extras),
    KT_NAMED("size", 3, size_names)};
KT_DESCRIBE(gemm_half, half_axes);

// Tiles of all sizes read the blocks of a type alike.
static const struct kt_axis half_quant_axes[] = {HALF_TYPES,
                                                 KT_CHOICES("form", form_name, 12),
                                                 KT_NUMBERS("tokens", 33),
                                                 KT_NUMBERS("rows", 48),
                                                 KT_NUMBERS("columns", 96, 256),
                                                 KT_NAMED("with", 1, extras),
                                                 KT_NAMED("size", 1, size_names)};
KT_DESCRIBE(gemm_half_quant, half_quant_axes);

// Rows in f32 of 5 tokens have 32 bytes more than tiles need for 160 columns, and too few bytes for
// 96.
static const struct kt_axis small_axes[] = {HALF_TYPES,
                                            KT_CHOICES("form", form_name, 15),
                                            KT_NUMBERS("tokens", 5, 8, 11, 16, 32),
                                            KT_NUMBERS("rows", 48, 2064, 8208),
                                            KT_NUMBERS("columns", 160, 320, 2080),
                                            KT_NAMED("with", N_EXTRA, extras),
                                            KT_NAMED("size", 3, size_names)};
KT_DESCRIBE(gemm_half_small, small_axes);

// Two turns of steps for 2,080 columns, which are not normed.
static const struct kt_axis converted_axes[] = {HALF_TYPES,
                                                KT_CHOICES("form", form_name, 21, 22),
                                                KT_NUMBERS("tokens", 1, 3, 5, 8, 11, 16),
                                                KT_NUMBERS("rows", 48, 2064, 8208),
                                                KT_NUMBERS("columns", 32, 160, 1024, 2048, 2080),
                                                KT_NAMED("with", N_EXTRA, extras),
                                                KT_NAMED("size", 3, size_names)};
KT_DESCRIBE(gemm_half_converted, converted_axes);

static const struct kt_axis packed_axes[] = {
    KT_TYPES(GI_GGML_TYPE_Q4_0, GI_GGML_TYPE_Q4_1, GI_GGML_TYPE_Q4_K),
    KT_CHOICES("form", form_name, 16, 17),
    KT_NUMBERS("tokens", 17, 65),
    KT_NUMBERS("rows", 16, 80),
    KT_NUMBERS("columns", 32, 96, 576),
    KT_NAMED("with", N_EXTRA, extras),
    KT_NAMED("size", 5, size_names)};
KT_DESCRIBE(packed, packed_axes);

static const struct kt_axis unscaled_axes[] = {
    KT_TYPES(GI_GGML_TYPE_F32, GI_GGML_TYPE_F16, GI_GGML_TYPE_BF16),
    KT_CHOICES("form", form_name, 18, 19, 20),
    KT_NUMBERS("tokens", 3, 8, 9, 16, 31, 50),
    KT_NUMBERS("rows", 16, 80, 144),
    KT_NUMBERS("columns", 32, 96, 576),
    KT_NAMED("with", N_EXTRA, extras),
    KT_NAMED("size", 1, size_names)};
KT_DESCRIBE(gemm_unscaled, unscaled_axes);

static const struct kt_axis overlap_axes[] = {
    KT_TYPES(GI_GGML_TYPE_F32, GI_GGML_TYPE_F16, GI_GGML_TYPE_Q5_1),
    KT_CHOICES("form", form_name, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 19),
    KT_NUMBERS("tokens", 8, 33), KT_NUMBERS("rows", 48), KT_NUMBERS("columns", 64, 96)};
KT_DESCRIBE(gemm_overlap, overlap_axes);
