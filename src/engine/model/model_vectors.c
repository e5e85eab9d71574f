#include "engine/model/model_vectors.h"

#include "base/array.h"
#include "engine/model/plan/plan_rows.h"
#include "engine/model/plan/plan_tensors.h"
#include "quant/quant.h"

#include <stdlib.h>

// Reads the first n elements of a tensor as floats; nothing if it is NULL.
static void read_vector(struct gi_vector_reader *reader, const struct gi_gguf_tensor *tensor,
                        size_t n, float *out)
{
    if (tensor && !reader->has_failed) {
        reader->has_failed = !gi_read_vector(reader->gguf, tensor, n, out, reader->err);
    }
}

float *gi_vector_take(struct gi_vector_reader *reader, const struct gi_gguf_tensor *tensor,
                      size_t n, const char *what)
{
    if (!tensor || reader->has_failed) {
        return NULL;
    }
    float *values = gi_array_zeroed(n, sizeof(*values), what, reader->err);
    reader->has_failed = !values;
    read_vector(reader, tensor, n, values);
    return values;
}

const struct gi_gguf_tensor *gi_vector_find(struct gi_vector_reader *reader, const char *name,
                                            uint64_t n_cols, uint64_t n_rows, bool has_more)
{
    const struct gi_gguf_tensor *tensor = gi_gguf_tensor_find(reader->gguf, name);
    const char *path = gi_gguf_path(reader->gguf);
    if (!tensor || reader->has_failed) {
        return NULL;
    }
    const uint64_t *dims = tensor->dims;
    if (!gi_quant_find(tensor->type->type)) {
        reader->has_failed =
            !gi_error_set(reader->err, GLINFER_STATUS_UNSUPPORTED,
                          "%s: tensor %s is of type %s, which has no kernel; supported are %s",
                          path, name, tensor->type->name, gi_quant_names());
    } else if (dims[0] != n_cols || dims[1] < n_rows || (dims[1] > n_rows && !has_more) ||
               dims[2] != 1 || dims[3] != 1) {
        reader->has_failed = !gi_error_set(
            reader->err, GLINFER_STATUS_BAD_FILE,
            "%s: tensor %s has shape %llu x %llu, expected %llu x %llu%s", path, name,
            (unsigned long long)dims[0], (unsigned long long)dims[1], (unsigned long long)n_cols,
            (unsigned long long)n_rows, has_more ? " or more" : "");
    }
    return tensor;
}

//-- norms -----------------------------------------------------------------------------------------

// Reads a norm; those of q and k come in the order of the rows that they multiply.
static void read_norm(struct gi_vector_reader *reader, const struct gi_model_plan *plan,
                      uint32_t index, float *file_order, float *out)
{
    const struct gi_gguf_tensor *tensor = plan->norms[index];
    const uint32_t norm = index % GI_NORM_COUNT;
    const uint32_t n = (uint32_t)(tensor->dims[0] * tensor->dims[1]);
    const bool is_paired = norm == GI_NORM_Q || norm == GI_NORM_K;
    const struct gi_heads heads = gi_layer_heads(&plan->hparams, index / GI_NORM_COUNT);
    read_vector(reader, tensor, n, is_paired ? file_order : out);
    for (uint32_t i = 0; is_paired && i < n; i++) {
        out[i] = file_order[gi_plan_pair_row(&plan->hparams, &heads, i)];
    }
    const float factor = plan->hparams.router_norm_factor;
    for (uint32_t i = 0; norm == GI_NORM_ROUTER && factor > 0 && i < n; i++) {
        out[i] *= factor;
    }
}

static void read_norms(struct gi_vector_reader *reader, struct glinfer_model *model,
                       const struct gi_model_plan *plan)
{
    const struct gi_norm_layout *layout = &plan->norm_layout;
    const uint32_t n_layer = plan->hparams.n_layer, n_norm = n_layer * GI_NORM_COUNT;
    const uint32_t n_embd = plan->hparams.n_embd;
    const uint32_t output = gi_norm_offset(layout, n_layer - 1, GI_NORM_NEXT);
    float *file_order;
    reader->has_failed =
        !GI_ARRAYS_ZEROED("the norms", reader->err, GI_NEW(model->norms, layout->size),
                          GI_NEW(file_order, layout->size)) ||
        reader->has_failed;
    for (uint32_t i = 0; !reader->has_failed && i < n_norm; i++) {
        const enum gi_norm norm = (enum gi_norm)(i % GI_NORM_COUNT);
        if (plan->norms[i]) {
            read_norm(reader, plan, i, file_order,
                      model->norms + gi_norm_offset(layout, i / GI_NORM_COUNT, norm));
        }
    }
    read_vector(reader, plan->norms[n_norm], n_embd, model->norms + output);
    read_vector(reader, plan->norms[n_norm + 1], n_embd, model->norms + layout->output_shift);
    free(file_order);
}

//-- positions -------------------------------------------------------------------------------------

// Reads position_embd, and adds the first row of token_types to each row.
static void read_positions(struct gi_vector_reader *reader, struct glinfer_model *model,
                           const struct gi_model_plan *plan)
{
    const struct gi_hparams *hparams = &plan->hparams;
    const uint32_t n_embd = hparams->n_embd, n_rows = hparams->n_ctx_train;
    const size_t n = (size_t)n_rows * n_embd;
    if (!hparams->has_positions) {
        return;
    }
    char name[GI_PLAN_NAME_SIZE];
    gi_plan_name(&plan->tower, "position_embd", 0, "weight", name);
    const struct gi_gguf_tensor *positions = gi_vector_find(reader, name, n_embd, n_rows, true);
    const struct gi_gguf_tensor *types =
        gi_vector_find(reader, "token_types.weight", n_embd, 1, true);
    model->positions = gi_array_zeroed(n, sizeof(float), "the positions", reader->err);
    reader->has_failed = reader->has_failed || !model->positions;
    read_vector(reader, positions, n, model->positions);
    float *type = gi_vector_take(reader, types, n_embd, "the types of tokens");
    for (size_t i = 0; type && i < n; i++) {
        model->positions[i] += type[i % n_embd];
    }
    free(type);
}

bool gi_model_vectors_read(struct glinfer_model *model, const struct gi_model_plan *plan,
                           struct glinfer_error *err)
{
    struct gi_vector_reader reader = {.gguf = plan->gguf, .err = err};
    const size_t n_factor = plan->hparams.n_rot / 2;
    const char *const what = "the RoPE factors";
    read_norms(&reader, model, plan);
    read_positions(&reader, model, plan);
    model->rope_factors = gi_vector_take(&reader, plan->rope_factors, n_factor, what);
    model->long_rope_factors = gi_vector_take(&reader, plan->long_rope_factors, n_factor, what);
    return !reader.has_failed;
}
