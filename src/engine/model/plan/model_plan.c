#include "engine/model/plan/model_plan.h"

#include "base/array.h"
#include "base/round.h"
#include "engine/model/adapter/plan_adapters.h"
#include "engine/model/plan/file_kind.h"
#include "engine/model/plan/plan_ends.h"
#include "engine/model/plan/plan_rows.h"
#include "engine/model/plan/plan_tensors.h"
#include "engine/model/plan/weight_layout.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- norms ---------------------------------------------------------------------------------------

// Returns the name of a norm's tensor, NULL where it is of zeros.
static const char *norm_name(const struct gi_model_plan *plan, const struct gi_norm_spec *spec,
                             uint32_t layer)
{
    const bool is_first = layer == 0 && spec->norm == GI_NORM_ATTN && plan->family->first_norm;
    return is_first ? plan->family->first_norm : spec->name;
}

// Converters leave the suffix out of some names.
static const char *find_suffix(const struct gi_model_plan *plan, const struct gi_norm_spec *spec,
                               const char *stem, uint32_t layer)
{
    const char *suffix = gi_norm_suffix(spec->norm);
    const bool is_bare =
        !gi_plan_has(plan, stem, layer, suffix) && gi_plan_has(plan, stem, layer, "");
    return is_bare ? "" : suffix;
}

static bool has_norm(const struct gi_model_plan *plan, const struct gi_norm_spec *spec,
                     const char *stem, uint32_t layer)
{
    return gi_dim_size(&plan->hparams, layer, spec->size) > 0 &&
           (!gi_norm_is_optional(spec->norm) ||
            gi_plan_has(plan, stem, layer, gi_norm_suffix(spec->norm)));
}

static void plan_layer_norms(struct gi_model_plan *plan, uint32_t layer)
{
    const struct gi_hparams *hparams = &plan->hparams;
    const struct gi_layer_tables tables = gi_model_family_tables(plan->family, hparams, layer);
    for (size_t i = 0; i < tables.n_norms; i++) {
        const struct gi_norm_spec *spec = &tables.norms[i];
        const char *name = norm_name(plan, spec, layer);
        const uint32_t own = gi_file_layer(hparams, layer);
        uint32_t n_cols, n_rows;
        gi_norm_shape(hparams, layer, spec->size, &n_cols, &n_rows);
        if (name && has_norm(plan, spec, name, own)) {
            gi_plan_require(plan, name, own, find_suffix(plan, spec, name, own), n_cols, n_rows, 1,
                            &plan->norms[layer * GI_NORM_COUNT + (uint32_t)spec->norm]);
        }
    }
}

// Returns true if the norm before the output adds a vector, as those of layers do.
static bool has_output_shift(const struct gi_model_plan *plan)
{
    const struct gi_model_family *family = plan->family;
    for (size_t i = 0; i < family->n_norms; i++) {
        if (family->norms[i].norm == GI_NORM_ATTN_SHIFT) {
            return family->norms[i].name != NULL;
        }
    }
    return false;
}

static void plan_norms(struct gi_model_plan *plan)
{
    const struct gi_hparams *hparams = &plan->hparams;
    const size_t n_norm = (size_t)hparams->n_layer * GI_NORM_COUNT, count = n_norm + 2;
    plan->norms =
        gi_array_zeroed(count, sizeof(plan->norms[0]), "the list of norms", &plan->failure);
    if (!plan->norms) {
        return;
    }
    for (uint32_t layer = 0; layer < hparams->n_layer; layer++) {
        plan_layer_norms(plan, layer);
    }
    const char *output = plan->family->output_norm ? plan->family->output_norm : "output_norm";
    gi_plan_require(plan, output, 0, "weight", hparams->n_embd, 1, 1, &plan->norms[n_norm]);
    if (has_output_shift(plan)) {
        gi_plan_require(plan, output, 0, "bias", hparams->n_embd, 1, 1, &plan->norms[n_norm + 1]);
    }
}

static const struct gi_gguf_tensor *norm_after(const struct gi_model_plan *plan, uint32_t layer,
                                               enum gi_norm norm)
{
    if (norm == GI_NORM_NONE) {
        return NULL;
    }
    if (norm == GI_NORM_NEXT) {
        const bool is_last = (layer + 1) % plan->norm_layout.n_turn == 0;
        layer = is_last ? plan->hparams.n_layer : layer + 1;
        norm = GI_NORM_ATTN;
    }
    return plan->norms[(size_t)layer * GI_NORM_COUNT + (uint32_t)norm];
}

//-- weights -------------------------------------------------------------------------------------

// Returns the name of a source, or what stands for it where the file does not have it.
static const char *source_name(const struct gi_model_plan *plan, const struct gi_weight_spec *spec,
                               uint32_t source, uint32_t layer)
{
    const char *pattern = spec->sources[source].name, *instead = spec->sources[source].instead;
    return instead && !gi_plan_has(plan, pattern, layer, "weight") ? instead : pattern;
}

// Returns true if a layer has the matrix, or the source of one.
static bool has_source(const struct gi_model_plan *plan, const struct gi_weight_spec *spec,
                       uint32_t source, uint32_t layer)
{
    const struct gi_hparams *hparams = &plan->hparams;
    return spec->sources[source].name && gi_dim_size(hparams, layer, spec->cols) > 0 &&
           gi_dim_size(hparams, layer, spec->sources[source].rows) > 0;
}

// Returns how many sources from first on are slices of the same tensor.
static uint32_t count_slices(const struct gi_weight_spec *spec, uint32_t first)
{
    uint32_t n = 1;
    while (first + n < GI_MAX_SOURCES && spec->sources[first + n].name &&
           strcmp(spec->sources[first + n].name, spec->sources[first].name) == 0) {
        n++;
    }
    return n;
}

// Returns the sources of a weight, without the shared expert's in a model that has none.
static uint32_t count_sources(const struct gi_model_plan *plan, const struct gi_weight_spec *spec)
{
    const uint32_t n_expert = gi_plan_expert_sources(spec->order);
    uint32_t n = 0;
    while (n < GI_MAX_SOURCES && spec->sources[n].name) {
        n++;
    }
    return n_expert > 0 && plan->hparams.n_shared == 0 ? n_expert : n;
}

// Returns the tensor in which a file may stack all sources of a weight, or all experts', which
// converters do or do not; NULL if it has the first of them.
static const char *find_stack(const struct gi_model_plan *plan, const struct gi_weight_spec *spec,
                              uint32_t layer)
{
    static const char *const stacks[] = {
        [GI_WEIGHT_ORDER_QKV] = "blk.%u.attn_qkv",
        [GI_WEIGHT_ORDER_EXPERTS_GATE_UP] = "blk.%u.ffn_gate_up_exps",
    };
    const size_t order = (size_t)spec->order;
    const char *stack = order < sizeof(stacks) / sizeof(stacks[0]) ? stacks[order] : NULL;
    return stack && gi_plan_has(plan, stack, layer, "weight") &&
                   !gi_plan_has(plan, spec->sources[0].name, layer, "weight")
               ? stack
               : NULL;
}

// Refuses a shared expert whose pieces do not end where its blocks do.
static void check_pieces(struct gi_model_plan *plan, const struct gi_gguf_tensor *tensor)
{
    const uint32_t n = plan->hparams.n_expert_ff;
    if (!plan->failure.status && plan->hparams.n_shared > 1 && n % tensor->type->block_size != 0) {
        gi_error_set(&plan->failure, GLINFER_STATUS_UNSUPPORTED,
                     "%s: tensor %.*s is of type %s, whose blocks of %u do not divide pieces as "
                     "wide as an expert (%u)",
                     gi_gguf_path(plan->gguf), (int)tensor->name.size, tensor->name.data,
                     tensor->type->name, tensor->type->block_size, n);
    }
}

// Finds the next n sources of a weight, which the tensor `name` holds.
static void find_sources(struct gi_model_plan *plan, const struct gi_weight_spec *spec,
                         const char *name, uint32_t layer, uint32_t n,
                         struct gi_plan_weight *weight)
{
    const struct gi_hparams *hparams = &plan->hparams;
    const uint32_t first = weight->n_sources, n_expert = gi_plan_expert_sources(spec->order);
    const bool is_shared = n_expert > 0 && first >= n_expert;
    const bool is_cut = is_shared && spec->order == GI_WEIGHT_ORDER_EXPERTS;
    const uint32_t n_group = spec->sources[first].is_alternating ? hparams->recurrent.n_k_head : 1;
    struct gi_plan_source whole = {0};
    uint32_t n_rows = 0;
    for (uint32_t i = 0; i < n; i++) {
        n_rows += gi_dim_size(hparams, layer, spec->sources[first + i].rows);
    }
    gi_plan_find_source(plan, name, layer,
                        (is_cut ? hparams->n_shared : 1) * gi_dim_size(hparams, layer, spec->cols),
                        n_rows, n_expert > 0 && !is_shared ? hparams->n_expert : 1, &whole);
    if (is_cut) {
        check_pieces(plan, whole.tensor);
    }
    for (uint32_t i = first; i < first + n; i++) {
        struct gi_plan_source *source = &weight->sources[i];
        *source = whole;
        source->n_rows = gi_dim_size(hparams, layer, spec->sources[i].rows);
        source->n_run = n_group > 1 ? source->n_rows / n_group : 0;
        source->run_step = n_rows / n_group;
        whole.row_begin += source->n_rows / n_group;
    }
}

// Returns the form of a matrix that a file has.
static const struct gi_weight_spec *choose_form(const struct gi_model_plan *plan,
                                                const struct gi_weight_spec *spec, uint32_t layer)
{
    const bool is_other = spec->other &&
                          !gi_plan_has(plan, spec->sources[0].name, layer, "weight") &&
                          gi_plan_has(plan, spec->other->sources[0].name, layer, "weight");
    return is_other ? spec->other : spec;
}

// Finds the weight of an earlier layer that has the same tensors and is followed by the same norm.
static const struct gi_plan_weight *find_same(const struct gi_model_plan *plan,
                                              const struct gi_plan_weight *weight)
{
    const uint32_t n_own = plan->hparams.n_own_layer;
    if (n_own == 0 || weight->layer < n_own) {
        return NULL;
    }
    const struct gi_plan_weight *earlier = weight - (size_t)n_own * GI_SLOT_COUNT;
    return earlier->gamma != weight->gamma ? NULL : earlier->same ? earlier->same : earlier;
}

static void plan_layer_weight(struct gi_model_plan *plan, const struct gi_weight_spec *spec,
                              uint32_t layer)
{
    const uint32_t own = gi_file_layer(&plan->hparams, layer);
    struct gi_plan_weight *weight = &plan->weights[layer * GI_SLOT_COUNT + (uint32_t)spec->slot];
    snprintf(weight->name, sizeof(weight->name), "blk.%u.%s", layer, spec->name);
    weight->order = spec->order;
    weight->layer = layer;
    if (!has_source(plan, spec, 0, layer)) {
        return;
    }
    uint32_t n_all = count_sources(plan, spec);
    while (!has_source(plan, spec, n_all - 1, layer)) {
        n_all--;
    }
    const uint32_t n_expert = gi_plan_expert_sources(spec->order);
    const char *stack = find_stack(plan, spec, own);
    const uint32_t n_stacked = n_all < 3 ? n_all : 3; // q, k and v, without gates of heads
    uint32_t n;
    for (; weight->n_sources < n_all; weight->n_sources += n) {
        const char *name = stack ? stack : source_name(plan, spec, weight->n_sources, own);
        n = !stack ? count_slices(spec, weight->n_sources) : n_expert > 0 ? n_expert : n_stacked;
        stack = NULL;
        find_sources(plan, spec, name, own, n, weight);
    }
    weight->weight.is_ungated = spec->slot == GI_SLOT_GATE_UP && !gi_plan_has_gate(spec->order);
    weight->gamma = norm_after(plan, layer, spec->next_norm);
    if (spec->post_norm != GI_NORM_ATTN) {
        weight->post = norm_after(plan, layer, spec->post_norm);
        weight->weight.is_normed = weight->post != NULL;
        weight->scale = norm_after(plan, layer, GI_NORM_OUT_SCALE);
    }
    weight->can_adapt = (spec->slot <= GI_SLOT_DOWN || spec->slot >= GI_SLOT_BESIDE_GATE_UP) &&
                        n_expert == 0 &&
                        !(spec->slot == GI_SLOT_GATE_UP && plan->hparams.is_sparse[layer]);
    weight->same = find_same(plan, weight);
    gi_weight_layout(plan, weight);
}

static void plan_weights(struct gi_model_plan *plan)
{
    const uint32_t n_layer = plan->hparams.n_layer;
    const size_t n_layer_weights = (size_t)n_layer * GI_SLOT_COUNT;
    const size_t count = (plan->adapters ? 2 : 1) * n_layer_weights + GI_MAX_ENDS;
    plan->weights =
        gi_array_zeroed(count, sizeof(plan->weights[0]), "the list of weights", &plan->failure);
    if (!plan->weights || !plan->norms) {
        return;
    }
    for (uint32_t layer = 0; layer < n_layer; layer++) {
        const struct gi_layer_tables tables =
            gi_model_family_tables(plan->family, &plan->hparams, layer);
        for (size_t i = 0; i < tables.n_weights; i++) {
            const uint32_t own = gi_file_layer(&plan->hparams, layer);
            plan_layer_weight(plan, choose_form(plan, &tables.weights[i], own), layer);
        }
    }
    plan->n_weights = n_layer * GI_SLOT_COUNT;
    gi_plan_ends(plan);
}

//-- the whole -----------------------------------------------------------------------------------

// Takes the family of a mixture of experts, which may bear the name of the family it is made after,
// or the family of files with a tensor.
static bool choose_variant(struct gi_model_plan *plan, struct glinfer_error *err)
{
    const struct gi_hparams_reader reader = {plan->gguf, plan->family->name, err};
    uint32_t n_expert;
    if (plan->family->other && gi_plan_has(plan, plan->family->other_tensor, 0, "weight")) {
        plan->family = plan->family->other;
    }
    if (!plan->family->with_experts) {
        return true;
    }
    if (!gi_hparams_u32(&reader, "expert_count", 0, &n_expert)) {
        return false;
    }
    plan->family = n_expert > 0 ? plan->family->with_experts : plan->family;
    return true;
}

static bool find_family(struct gi_model_plan *plan, struct glinfer_error *err)
{
    struct gi_gguf_string name;
    if (plan->tower.family) {
        plan->family = gi_model_family_find(plan->tower.family, strlen(plan->tower.family));
        assert(plan->family);
        return true;
    }
    if (!gi_check_is_model(plan->gguf, err) ||
        !gi_gguf_get_string(plan->gguf, "general.architecture", &name, err)) {
        return false;
    }
    if (!name.data) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "%s: the key general.architecture is missing",
                            gi_gguf_path(plan->gguf));
    }
    plan->family = gi_model_family_find(name.data, name.size);
    if (!plan->family) {
        const int shown = name.size > 64 ? 64 : (int)name.size;
        char names[GI_FAMILY_NAMES_SIZE];
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: the model family \"%.*s\" is not supported; supported are: %s",
                            gi_gguf_path(plan->gguf), shown, name.data,
                            gi_model_family_names(names));
    }
    return choose_variant(plan, err);
}

// Refuses layers without attention, or without experts, where the family has no others.
static bool check_layers(const struct gi_model_plan *plan, struct glinfer_error *err)
{
    if (plan->hparams.n_leading > 0 && !plan->family->leading) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: %u layers have no experts, which \"%s\" does not support",
                            gi_gguf_path(plan->gguf), plan->hparams.n_leading, plan->family->name);
    }
    for (uint32_t i = 0; !plan->family->others && i < plan->hparams.n_layer; i++) {
        if (gi_layer_kind(&plan->hparams, i) == GI_LAYER_RECURRENT) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "%s: layer %u has no key or value heads; \"%s\" needs them",
                                gi_gguf_path(plan->gguf), i, plan->family->name);
        }
    }
    return true;
}

static bool read_hparams(struct gi_model_plan *plan, struct glinfer_error *err)
{
    const struct gi_model_family *family = plan->family;
    const struct gi_hparams_reader reader = {plan->gguf, family->name, err};
    plan->hparams.rope_pairing = family->rope_pairing;
    plan->hparams.activation = family->activation;
    if (!gi_hparams_read(&reader, &plan->hparams) ||
        (family->has_experts && !gi_hparams_read_experts(&reader, &plan->hparams)) ||
        (family->read_hparams && !family->read_hparams(&reader, &plan->hparams)) ||
        !gi_hparams_check_kv_heads(&reader, &plan->hparams) || !check_layers(plan, err)) {
        return false;
    }
    if (family->has_experts && plan->hparams.n_leading == 0 && !plan->hparams.has_network_beside) {
        plan->hparams.n_ff = plan->hparams.n_expert_ff;
    }
    const bool has_networks = family->n_weights > 0; // a family without attention has none either
    return !has_networks || plan->hparams.n_ff > 0 ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: the key %s.feed_forward_length is missing", gi_gguf_path(plan->gguf),
                        family->name);
}

// Leaves *out as it is if the file has no such tensor.
static void find_factors(struct gi_model_plan *plan, const char *name,
                         const struct gi_gguf_tensor **out)
{
    const struct gi_gguf_tensor *factors = gi_gguf_tensor_find(plan->gguf, name);
    if (!factors || plan->failure.status) {
        return;
    }
    *out = factors;
    if (factors->type->type != GI_GGML_TYPE_F32) {
        gi_error_set(&plan->failure, GLINFER_STATUS_UNSUPPORTED,
                     "%s: %s is of type %s, expected f32", gi_gguf_path(plan->gguf), name,
                     factors->type->name);
    }
    gi_plan_check_shape(plan, factors, plan->hparams.n_rot / 2, 1, 1);
}

static void find_rope_factors(struct gi_model_plan *plan)
{
    find_factors(plan, "rope_freqs.weight", &plan->rope_factors);
    find_factors(plan, "rope_factors_short.weight", &plan->rope_factors);
    plan->long_rope_factors = plan->rope_factors;
    find_factors(plan, "rope_factors_long.weight", &plan->long_rope_factors);
}

static bool has_gate(const struct gi_model_plan *plan)
{
    const struct gi_model_family *family = plan->family;
    size_t i = 0;
    while (i < family->n_weights && family->weights[i].order != GI_WEIGHT_ORDER_QKV_GATED) {
        i++;
    }
    return plan->hparams.has_head_gates || i < family->n_weights;
}

static void lay_out_vectors(struct gi_model_plan *plan)
{
    const struct gi_model_family *family = plan->family;
    const struct gi_layer_tables *more = family->others;
    for (uint32_t i = 0; i < plan->hparams.n_layer; i++) {
        const struct gi_qkv_layout layout = gi_layer_qkv_layout(&plan->hparams, i, has_gate(plan));
        plan->qkv_layout = layout.n_rows > plan->qkv_layout.n_rows ? layout : plan->qkv_layout;
    }
    gi_norm_layout_init(&plan->norm_layout, &plan->hparams, family->norms, family->n_norms,
                        more ? more->norms : NULL, more ? more->n_norms : 0);
}

bool gi_model_plan_init(struct gi_model_plan *plan, const struct gi_gguf *gguf,
                        const struct gi_tower *tower, const struct gi_plan_limits *limits,
                        struct gi_adapter_set *adapters, struct glinfer_error *err)
{
    memset(plan, 0, sizeof(*plan));
    plan->gguf = gguf;
    plan->tower = tower ? *tower : (struct gi_tower){0};
    plan->limits = *limits;
    plan->adapters = adapters && adapters->n > 0 ? adapters : NULL;
    if (find_family(plan, err) && read_hparams(plan, err)) {
        gi_plan_adapters_begin(plan);
        lay_out_vectors(plan);
        find_rope_factors(plan);
        plan_norms(plan);
        plan_weights(plan);
        gi_plan_adapters(plan);
        if (!plan->failure.status) {
            return true;
        }
        gi_error_pass(err, &plan->failure);
    }
    gi_model_plan_finish(plan);
    return false;
}

void gi_model_plan_finish(struct gi_model_plan *plan)
{
    free(plan->weights);
    free(plan->norms);
    memset(plan, 0, sizeof(*plan));
}

uint64_t gi_plan_part_size(const struct gi_weight_part *part, uint32_t alignment)
{
    return gi_round_up(part->aux.offset + part->aux.size, alignment);
}
