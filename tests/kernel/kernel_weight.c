#include "kernel_test.h"

#include <stdlib.h>
#include <string.h>

// Where a block of the file has its f16 scale and minimum, and about how many times a scale weights
// are at the most.
struct scale_places {
    uint32_t type;
    struct {
        uint32_t byte;
        float range; // 0: there is none
    } places[2];
};

static const struct scale_places scale_places[] = {
    {GI_GGML_TYPE_F16,     {{0, 1}}               },
    {GI_GGML_TYPE_Q4_0,    {{0, 8}}               },
    {GI_GGML_TYPE_Q4_1,    {{0, 8}, {2, 1}}       },
    {GI_GGML_TYPE_Q5_0,    {{0, 16}}              },
    {GI_GGML_TYPE_Q5_1,    {{0, 16}, {2, 1}}      },
    {GI_GGML_TYPE_Q8_0,    {{0, 128}}             },
    {GI_GGML_TYPE_Q2_K,    {{80, 45}, {82, 15}}   },
    {GI_GGML_TYPE_Q3_K,    {{108, 32 * 4}}        },
    {GI_GGML_TYPE_Q4_K,    {{0, 63 * 15}, {2, 63}}},
    {GI_GGML_TYPE_Q5_K,    {{0, 63 * 31}, {2, 63}}},
    {GI_GGML_TYPE_Q6_K,    {{208, 128 * 32}}      },
    {GI_GGML_TYPE_IQ4_NL,  {{0, 127}}             },
    {GI_GGML_TYPE_IQ4_XS,  {{0, 32 * 127}}        },
    {GI_GGML_TYPE_TQ1_0,   {{52, 1}}              },
    {GI_GGML_TYPE_TQ2_0,   {{64, 1}}              },
    {GI_GGML_TYPE_IQ2_XXS, {{0, 16 * 11}}         },
    {GI_GGML_TYPE_IQ2_XS,  {{0, 16 * 11}}         },
    {GI_GGML_TYPE_IQ2_S,   {{0, 16 * 11}}         },
    {GI_GGML_TYPE_IQ3_XXS, {{0, 16 * 31}}         },
    {GI_GGML_TYPE_IQ3_S,   {{0, 31 * 15}}         },
    {GI_GGML_TYPE_IQ1_S,   {{0, 15}}              },
};

static void fill_halves(struct kt_run *run, const struct scale_places *places, uint8_t *block)
{
    for (size_t i = 0; i < 2 && places->places[i].range > 0; i++) {
        float value = kt_uniform(run, -1, 1) / places->places[i].range;
        uint16_t half = gi_float_to_half(value);
        memcpy(block + places->places[i].byte, &half, sizeof(half));
    }
}

// The four hexadecimal digits of a scale, the lowest first, as the top digits of four words.
static void fill_digits(uint16_t half, uint8_t *words)
{
    for (uint32_t i = 0; i < 4; i++) {
        words[2 * i + 1] = (uint8_t)((words[2 * i + 1] & 15) | (half >> 4 * i & 15) << 4);
    }
}

// Makes a block of random bytes one of weights of about unit size.
static void fill_scales(struct kt_run *run, uint32_t type, uint8_t *block)
{
    float value = kt_uniform(run, -1, 1);
    switch (type) {
    case GI_GGML_TYPE_F32:
        memcpy(block, &value, sizeof(value));
        return;
    case GI_GGML_TYPE_BF16:
        memcpy(block, (const uint8_t *)&value + 2, 2);
        return;
    case GI_GGML_TYPE_IQ1_M:
        fill_digits(gi_float_to_half(value / 15), block + 48);
        return;
    case GI_GGML_TYPE_MXFP4:
        block[0] = (uint8_t)(122 + kt_index(run, 6));
        return;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof(scale_places) / sizeof(scale_places[0]); i++) {
        if (scale_places[i].type == type) {
            fill_halves(run, &scale_places[i], block);
        }
    }
}

// The file's bytes of one row of random weights of about unit size.
static void fill_file_row(struct kt_run *run, const struct gi_ggml_type_facts *facts,
                          uint32_t n_cols, uint8_t *row)
{
    uint32_t n_block = n_cols / facts->block_size;
    for (uint32_t i = 0; i < n_block * facts->block_bytes; i++) {
        row[i] = (uint8_t)kt_index(run, 256);
    }
    for (uint32_t b = 0; b < n_block; b++) {
        fill_scales(run, facts->type, row + (size_t)b * facts->block_bytes);
    }
}

static uint32_t type_of_row(const struct kt_weight_params *params, uint32_t n_rows, uint32_t row)
{
    return params->is_apart && row >= n_rows / 2 ? params->up_type : params->type;
}

// Rows of the file for all of n_rows; rows past params->n_rows are NULL.
static uint8_t **make_file_rows(struct kt_run *run, const struct kt_weight_params *params,
                                uint32_t n_rows, uint32_t n_cols)
{
    uint8_t **rows = kt_alloc(n_rows, sizeof(*rows));
    for (uint32_t i = 0; i < params->n_rows; i++) {
        const struct gi_ggml_type_facts *facts = gi_ggml_type_find(type_of_row(params, n_rows, i));
        rows[i] = kt_alloc((size_t)(n_cols / facts->block_size) * facts->block_bytes, 1);
        fill_file_row(run, facts, n_cols, rows[i]);
    }
    return rows;
}

static void free_file_rows(uint8_t **rows, uint32_t n_rows)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        free(rows[i]);
    }
    free(rows);
}

// Puts the part's bias and gamma behind its scales.
static void add_vectors(const struct kt_weight *weight, const struct kt_weight_params *params,
                        struct gi_weight_part *part, float *aux, uint32_t *n_word)
{
    size_t size = part->n_rows * sizeof(float);
    part->bias = part->gamma = GI_NO_OFFSET;
    if (params->has_bias) {
        part->bias = *n_word;
        memcpy(aux + *n_word, weight->bias + part->row_begin, size);
        *n_word += part->n_rows;
    }
    if (params->has_gamma) {
        part->gamma = *n_word;
        memcpy(aux + *n_word, weight->gamma + part->row_begin, size);
        *n_word += part->n_rows;
    }
}

static bool make_part(struct kt_weight *weight, struct kt_run *run,
                      const struct kt_weight_params *params, uint8_t *const *rows,
                      struct gi_weight_part *part)
{
    const struct gi_quant *quant = part->quant;
    uint32_t n_cols = weight->weight.n_cols;
    size_t quads_size = (size_t)gi_quant_quads_size(quant, part->n_rows, n_cols);
    size_t scales_size = (size_t)gi_quant_scales_size(quant, part->n_rows, n_cols);
    uint8_t *quads = kt_alloc(quads_size, 1);
    size_t table_size = quant->table_words * sizeof(uint32_t);
    uint8_t *aux = kt_alloc(table_size + scales_size + 2 * part->n_rows * sizeof(float), 1);
    size_t n_tile = part->n_rows / GI_TILE_ROWS;
    if (quant->table) {
        memcpy(aux, quant->table, table_size);
    }
    for (size_t t = 0; t < n_tile; t++) {
        const void *tile[GI_TILE_ROWS];
        for (size_t i = 0; i < GI_TILE_ROWS; i++) {
            tile[i] = rows[part->row_begin + t * GI_TILE_ROWS + i];
        }
        gi_quant_repack_tile(quant, tile, n_cols,
                             (uint32_t *)(void *)(quads + t * (quads_size / n_tile)),
                             (uint32_t *)(void *)(aux + table_size + t * (scales_size / n_tile)));
    }
    uint32_t n_word = (uint32_t)((table_size + scales_size) / sizeof(uint32_t));
    add_vectors(weight, params, part, (float *)(void *)aux, &n_word);
    part->quads = kt_range(run, "quads", quads, quads_size);
    if (n_word > 0) {
        part->aux = kt_range(run, "aux", aux, n_word * sizeof(uint32_t));
    }
    free(quads);
    free(aux);
    return !run->has_failed;
}

// Ranges of the right sizes and no values.
static bool make_blank(struct kt_weight *weight, struct kt_run *run,
                       const struct kt_weight_params *params)
{
    const struct gi_quant *quant = gi_quant_find(params->type);
    uint32_t n_rows = weight->weight.n_rows, n_cols = weight->weight.n_cols;
    size_t quads_size = (size_t)gi_quant_quads_size(quant, n_rows, n_cols);
    size_t scales_size =
        (size_t)gi_quant_scales_size(quant, n_rows, n_cols) + quant->table_words * sizeof(uint32_t);
    uint32_t scale_words = (uint32_t)(scales_size / sizeof(uint32_t));
    struct gi_weight_part *part = &weight->weight.parts[0];
    *part = (struct gi_weight_part){
        .quant = quant,
        .quads = kt_range(run, "quads", NULL, quads_size),
        .aux = kt_range(run, "aux", NULL, scales_size + n_rows * sizeof(float)),
        .n_rows = n_rows,
        .bias = GI_NO_OFFSET,
        .gamma = params->has_gamma ? scale_words : GI_NO_OFFSET,
    };
    weight->weight.n_parts = 1;
    return !run->has_failed;
}

static void fill_vectors(struct kt_weight *weight, struct kt_run *run,
                         const struct kt_weight_params *params)
{
    for (uint32_t i = 0; i < weight->weight.n_rows; i++) {
        bool is_row = i < params->n_rows;
        weight->bias[i] = params->has_bias && is_row ? kt_uniform(run, -1, 1) : 0;
        weight->gamma[i] = params->has_gamma ? (is_row ? kt_uniform(run, 0.5f, 2) : 0) : 1;
    }
}

static bool make_parts(struct kt_weight *weight, struct kt_run *run,
                       const struct kt_weight_params *params, uint8_t *const *rows)
{
    uint32_t n_rows = weight->weight.n_rows;
    uint32_t run_rows = params->is_apart ? n_rows / 2 : n_rows;
    uint32_t part_rows = params->max_part_rows ? params->max_part_rows : run_rows;
    for (uint32_t begin = 0; begin < n_rows;) {
        struct gi_weight_part *part = &weight->weight.parts[weight->weight.n_parts++];
        uint32_t left = run_rows - begin % run_rows;
        part->quant = gi_quant_find(type_of_row(params, n_rows, begin));
        part->row_begin = begin;
        part->n_rows = left < part_rows ? left : part_rows;
        if (!make_part(weight, run, params, rows, part)) {
            return false;
        }
        begin += part->n_rows;
    }
    return true;
}

bool kt_weight_init(struct kt_weight *weight, struct kt_run *run,
                    const struct kt_weight_params *params)
{
    uint32_t n_rows = (params->n_rows + 15) / 16 * 16, n_cols = params->n_cols;
    memset(weight, 0, sizeof(*weight));
    weight->weight = (struct gi_weight){
        .name = "weight", .n_rows = n_rows, .n_cols = n_cols, .is_apart = params->is_apart};
    if (params->is_blank) {
        return make_blank(weight, run, params);
    }
    weight->dense = kt_alloc((size_t)n_rows * n_cols, sizeof(float));
    weight->bias = kt_alloc(n_rows, sizeof(float));
    weight->gamma = kt_alloc(n_rows, sizeof(float));
    uint8_t **rows = make_file_rows(run, params, n_rows, n_cols);
    for (uint32_t i = 0; i < params->n_rows; i++) {
        gi_quant_find(type_of_row(params, n_rows, i))
            ->dequantize_row(rows[i], n_cols, weight->dense + (size_t)i * n_cols);
    }
    fill_vectors(weight, run, params);
    bool is_made = make_parts(weight, run, params, rows);
    free_file_rows(rows, n_rows);
    return is_made;
}

void kt_weight_finish(struct kt_weight *weight)
{
    free(weight->dense);
    free(weight->bias);
    free(weight->gamma);
    memset(weight, 0, sizeof(*weight));
}

uint64_t kt_weight_bytes(const struct gi_weight *weight)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < weight->n_parts; i++) {
        bytes += weight->parts[i].quads.size + weight->parts[i].aux.size;
    }
    return bytes;
}
