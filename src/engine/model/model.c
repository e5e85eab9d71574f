#include "engine/model/model.h"

#include "base/array.h"
#include "base/round.h"
#include "engine/model/model_info.h"
#include "engine/model/model_vectors.h"
#include "engine/model/plan/file_kind.h"
#include "engine/model/plan/spare_tensors.h"
#include "engine/model/plan/towers.h"
#include "engine/model/vocab.h"
#include "gpu/memory/large_pages.h"
#include "gpu/memory/unbind.h"
#include "grammar/grammar_vocab.h"
#include "hf/folder/hf_adapter.h"
#include "hf/folder/hf_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads the tokenizer, with the template that was asked for.
static struct gi_tokenizer *read_tokenizer(const struct gi_gguf *gguf,
                                           const struct glinfer_model_params *params,
                                           struct glinfer_error *err)
{
    struct gi_tokenizer *tokenizer = gi_tokenizer_read(gguf, err);
    if (tokenizer && params->chat_template &&
        !gi_tokenizer_set_template(tokenizer, params->chat_template, err)) {
        gi_tokenizer_destroy(tokenizer);
        return NULL;
    }
    return tokenizer;
}

//-- inspect -------------------------------------------------------------------------------------

static bool check_vocabulary(const struct gi_model_plan *plan, const struct gi_tokenizer *tokenizer,
                             struct glinfer_error *err)
{
    const size_t n = gi_tokenizer_size(tokenizer);
    return n <= plan->hparams.n_vocab_rows ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: the vocabulary has %zu tokens, the embedding %u rows",
                        gi_gguf_path(plan->gguf), n, plan->hparams.n_vocab_rows);
}

// Adds the sizes of the encoder to those of a decoder, each layer of which is two in its tower and
// one of keys in the encoder's, and the estimates: both work at the same time.
static void add_tower(struct glinfer_model_info *info, const struct glinfer_model_info *other)
{
    info->n_layer /= 2;
    info->n_encoder_layer = other->n_layer - info->n_layer;
    info->n_encoder_ctx = other->n_ctx_train;
    info->n_mel = other->n_mel;
    info->n_language = gi_whisper_count_languages(info->n_vocab);
    info->weights += other->weights;
    info->kv_cache += other->kv_cache;
    info->scratch += other->scratch;
    info->largest_binding = gi_max_u64(info->largest_binding, other->largest_binding);
}

// Fills the estimates of all towers of a speech model.
static bool inspect_towers(struct glinfer_model_info *info, const struct gi_gguf *gguf,
                           const struct gi_tower *towers, const struct gi_plan_limits *limits,
                           const struct glinfer_model_params *params, struct glinfer_error *err)
{
    struct glinfer_model_info infos[GI_TOWER_COUNT] = {*info, *info};
    bool ok = true;
    for (uint32_t i = 0; ok && i < GI_TOWER_COUNT; i++) {
        struct gi_model_plan plan;
        ok = gi_model_plan_init(&plan, gguf, &towers[i], limits, NULL, err);
        if (ok) {
            gi_model_info_plan(&infos[i], &plan, params, limits->alignment, 0, 0);
            gi_model_plan_finish(&plan);
        }
    }
    *info = infos[GI_TOWER_DECODER];
    if (ok) {
        add_tower(info, &infos[GI_TOWER_ENCODER]);
    }
    info->is_speech = true;
    info->is_supported = ok;
    return ok;
}

// Fills the estimate, or a refusal with the reason that loading would give. False where there was
// no memory to find out.
static bool inspect_support(struct glinfer_model_info *info, struct gi_gguf *gguf,
                            const struct glinfer_model_params *params,
                            const struct gi_tokenizer *tokenizer,
                            const struct glinfer_error *tokenizer_err, struct glinfer_error *err)
{
    const struct gi_plan_limits limits = {.max_range = 128u << 20, .alignment = 256};
    const struct gi_tower *towers = gi_towers_find(gguf);
    struct glinfer_error reason;
    struct gi_model_plan plan;
    struct gi_adapter_set adapters = {0};
    if (towers && inspect_towers(info, gguf, towers, &limits, params, &reason)) {
        return true;
    }
    const bool is_planned = !towers && gi_model_adapters_open(&adapters, gguf, params, &reason) &&
                            gi_model_plan_init(&plan, gguf, NULL, &limits, &adapters, &reason);
    if (!is_planned) {
        gi_adapter_set_close(&adapters);
        snprintf(info->refusal, sizeof(info->refusal), "%s", reason.message);
        return reason.status != GLINFER_STATUS_NO_MEMORY || gi_error_pass(err, &reason);
    }
    gi_model_info_plan(info, &plan, params, limits.alignment,
                       tokenizer ? gi_tokenizer_size(tokenizer) : 0, 0);
    reason = *tokenizer_err;
    info->is_supported = tokenizer && check_vocabulary(&plan, tokenizer, &reason);
    gi_model_plan_finish(&plan);
    gi_adapter_set_close(&adapters);
    if (!info->is_supported) {
        snprintf(info->refusal, sizeof(info->refusal), "%s", reason.message);
    }
    return true;
}

// Fills what a LoRA adapter tells of itself, and closes its file.
static bool inspect_adapter(struct glinfer_model_info *info, struct gi_gguf *gguf,
                            struct glinfer_error *err)
{
    struct gi_adapter adapter;
    struct glinfer_error reason;
    const bool ok =
        gi_adapter_take(&adapter, gguf, err) && gi_model_info_file(info, gguf, NULL, err) &&
        gi_gguf_get_f32(gguf, GI_HF_MIN_ALPHA, adapter.alpha, &info->adapter_min_alpha, err) &&
        gi_gguf_get_f32(gguf, GI_HF_MAX_ALPHA, adapter.alpha, &info->adapter_max_alpha, err);
    if (ok && !gi_check_is_model(gguf, &reason)) {
        snprintf(info->refusal, sizeof(info->refusal), "%s", reason.message);
    }
    info->is_adapter = true;
    info->n_adapted = (uint32_t)adapter.n_pairs;
    info->adapter_max_rank = info->adapter_min_rank = adapter.rank;
    for (size_t i = 0; ok && i < adapter.n_pairs; i++) {
        info->adapter_min_rank =
            gi_min_u32(info->adapter_min_rank, (uint32_t)adapter.pairs[i].b->dims[0]);
    }
    gi_adapter_close(&adapter);
    return ok;
}

bool gi_model_inspect(const struct glinfer_source *source,
                      const struct glinfer_model_params *params, struct glinfer_model_info *info,
                      struct glinfer_error *err)
{
    struct glinfer_error tokenizer_err = {0};
    const bool is_adapter = source->kind == GLINFER_SOURCE_PATH && gi_hf_is_adapter(source->path);
    struct gi_gguf *gguf =
        is_adapter ? gi_hf_open_adapter(source->path, NULL, err) : gi_hf_open_source(source, err);
    if (!gguf || gi_gguf_has(gguf, "adapter.type")) {
        return gguf && inspect_adapter(info, gguf, err);
    }
    const bool is_speech = gi_towers_find(gguf);
    struct gi_tokenizer *tokenizer =
        is_speech ? NULL : read_tokenizer(gguf, params, &tokenizer_err);
    const bool has_memory = tokenizer || tokenizer_err.status != GLINFER_STATUS_NO_MEMORY ||
                            gi_error_pass(err, &tokenizer_err);
    const bool ok = has_memory && gi_model_info_file(info, gguf, tokenizer, err) &&
                    inspect_support(info, gguf, params, tokenizer, &tokenizer_err, err);
    gi_tokenizer_destroy(tokenizer);
    gi_gguf_close(gguf);
    return ok;
}

//-- load ----------------------------------------------------------------------------------------

static bool check_budget(const struct glinfer_model *model, struct glinfer_error *err)
{
    const struct glinfer_model_info *info = &model->info;
    const uint64_t needed = info->weights + info->kv_cache + info->scratch;
    const struct gi_budget budget = gi_budget_find(
        model->mem_budget, 0, gi_gpu_platform(model->device->gpu)->is_software, info->peak_host);
    if (needed <= budget.left) {
        return true;
    }
    const double mib = 1048576.0;
    // Some of the scratch grows with the context too, so that a little more than this would fit.
    const uint64_t fixed = info->weights + info->scratch + budget.kept;
    const uint64_t per_token = info->kv_cache / info->n_ctx;
    if (model->tower.family || fixed + 256 * per_token > budget.left) {
        return gi_error_set(err, GLINFER_STATUS_OVER_BUDGET,
                            "%s needs %.0f MiB (%.0f weights, %.0f cache, %.0f scratch), %s "
                            "leaves %.0f MiB: take a smaller model or a smaller quantisation",
                            info->description, (double)needed / mib, (double)info->weights / mib,
                            (double)info->kv_cache / mib, (double)info->scratch / mib, budget.whose,
                            (double)budget.left / mib);
    }
    return gi_error_set(err, GLINFER_STATUS_OVER_BUDGET,
                        "%s needs %.0f MiB with a context of %u, %s leaves %.0f MiB: a context of "
                        "%llu would fit",
                        info->description, (double)needed / mib, info->n_ctx, budget.whose,
                        (double)budget.left / mib,
                        (unsigned long long)((budget.left - fixed) / per_token));
}

bool gi_model_reserve(struct glinfer_model *model, uint64_t size, uint64_t host, const char *who,
                      const char *advice, struct glinfer_error *err)
{
    const struct gi_budget budget = gi_budget_find(
        model->mem_budget, model->used, gi_gpu_platform(model->device->gpu)->is_software, host);
    if (size > budget.left) {
        const double mib = 1048576.0;
        return gi_error_set(err, GLINFER_STATUS_OVER_BUDGET, "%s %.1f MiB, %s leaves %.1f MiB: %s",
                            who, (double)size / mib, budget.whose, (double)budget.left / mib,
                            advice);
    }
    model->used += size;
    return true;
}

static bool load_weights(struct glinfer_model *model, const struct gi_model_plan *plan,
                         const struct glinfer_model_params *params, struct glinfer_error *err)
{
    struct gi_gpu *gpu = model->device->gpu;
    struct gi_platform_saved saved;
    if (!gi_gpu_enter(gpu, &saved, err)) {
        return false;
    }
    struct glinfer_error own = {0};
    bool ok = gi_weight_store_load(&model->store, gpu, plan, params->progress,
                                   params->progress_user, &own);
    // A copy that was lost in large pages does not mean a lost GPU: small pages may hold it.
    if (!ok && own.status == GLINFER_STATUS_GPU_LOST && gi_large_pages_distrust(gpu, own.message)) {
        ok = gi_weight_store_load(&model->store, gpu, plan, params->progress, params->progress_user,
                                  &own);
    }
    gi_gpu_leave(gpu, &saved);
    if (!ok) {
        return gi_error_pass(err, &own);
    }
    const struct gi_weight *layers = model->store.weights;
    const struct gi_weight *ends = layers + (size_t)plan->hparams.n_layer * GI_SLOT_COUNT;
    const struct gi_weight *output = plan->is_tied ? &ends[0] : &ends[1];
    const struct gi_weight *next = output + 1;
    model->weights =
        (struct gi_model_weights){.layers = layers, .embed = &ends[0], .output = output};
    if (plan->hparams.n_sound > 0) {
        model->weights.conv1 = &ends[0];
        model->weights.conv2 = &ends[1];
    }
    if (plan->hparams.inputs.width > 0) {
        model->weights.input_embed = next++;
        model->weights.input_proj = next++;
    }
    if (plan->hparams.altup.n > 0) {
        model->weights.stream_proj = next++;
        model->weights.stream_back = next;
    }
    return true;
}

// A tower has no tokenizer.
static size_t tokenizer_size(const struct glinfer_model *model)
{
    return model->tokenizer.core ? gi_tokenizer_size(model->tokenizer.core) : 0;
}

static bool load_planned(struct glinfer_model *model, const struct gi_model_plan *plan,
                         const struct glinfer_model_params *params, struct glinfer_error *err)
{
    model->family = plan->family;
    model->hparams = plan->hparams;
    model->qkv_layout = plan->qkv_layout;
    model->norm_layout = plan->norm_layout;
    gi_model_info_plan(&model->info, plan, params,
                       gi_arena_alignment(gi_gpu_limits(model->device->gpu)), tokenizer_size(model),
                       gi_gpu_class(model->device->gpu)->max_batch);
    if ((model->tokenizer.core && !check_vocabulary(plan, model->tokenizer.core, err)) ||
        !check_budget(model, err) || !gi_model_vectors_read(model, plan, err) ||
        !gi_dense_head_read(&model->head, plan->gguf, &plan->hparams, err) ||
        !load_weights(model, plan, params, err)) {
        return false;
    }
    model->used = model->info.weights;
    model->info.n_embedding = gi_dense_head_embedding_size(&model->head, model->hparams.n_embd);
    model->info.is_supported = true;
    return true;
}

static bool plan_file(const struct glinfer_model *model, const struct gi_gguf *gguf,
                      struct gi_adapter_set *adapters, struct gi_model_plan *plan,
                      struct glinfer_error *err)
{
    const struct gi_limits *limits = gi_gpu_limits(model->device->gpu);
    const struct gi_plan_limits plan_limits = {.max_range = gi_arena_max_range(limits),
                                               .alignment = gi_arena_alignment(limits)};
    return gi_model_plan_init(plan, gguf, &model->tower, &plan_limits, adapters, err);
}

// Logs which of the file's tensors and special tokens are left alone.
static bool note_spare(const struct glinfer_model *model, const struct gi_model_plan *plan,
                       struct glinfer_error *err)
{
    struct gi_spare_tensors spare;
    if (!gi_spare_tensors_find(plan, &spare, err)) {
        return false;
    }
    gi_spare_tensors_say(plan, &spare, &model->device->log);
    gi_vocab_warn(plan->gguf, tokenizer_size(model), &model->device->log);
    return true;
}

static bool load_planned_file(struct glinfer_model *model, const struct gi_gguf *gguf,
                              struct gi_adapter_set *adapters,
                              const struct glinfer_model_params *params, struct glinfer_error *err)
{
    struct gi_model_plan plan;
    if (!plan_file(model, gguf, adapters, &plan, err)) {
        return false;
    }
    const bool is_tower = model->tower.family;
    if (!is_tower) {
        model->tokenizer.core = read_tokenizer(gguf, params, err);
    }
    const bool ok =
        (is_tower || model->tokenizer.core) && gi_gguf_identify(gguf, &model->identity, err) &&
        gi_model_info_file(&model->info, gguf, model->tokenizer.core, err) &&
        (is_tower || note_spare(model, &plan, err)) && load_planned(model, &plan, params, err);
    gi_model_plan_finish(&plan);
    return ok;
}

static bool load_file(struct glinfer_model *model, struct gi_gguf *gguf,
                      const struct glinfer_model_params *params, struct glinfer_error *err)
{
    struct gi_adapter_set adapters;
    if (!gi_model_adapters_keep(&model->adapters, &adapters, gguf, params, err)) {
        return false;
    }
    const bool ok = load_planned_file(model, gguf, &adapters, params, err);
    gi_adapter_set_close(&adapters);
    return ok;
}

// Reads the source, whose reader may not call back. Of a speech model that is its decoder.
static bool load_source(struct glinfer_model *model, const struct glinfer_source *source,
                        const struct glinfer_model_params *params, struct glinfer_error *err)
{
    model->device->is_busy = true;
    struct gi_gguf *gguf = gi_hf_open_source(source, err);
    const struct gi_tower *towers = gguf && !model->tower.family ? gi_towers_find(gguf) : NULL;
    model->tower = towers ? towers[GI_TOWER_DECODER] : model->tower;
    const bool ok = gguf && gi_source_keep(&model->source, source, err) &&
                    load_file(model, gguf, params, err) &&
                    (!towers || gi_whisper_model_init(&model->speech, gguf, err));
    model->info.is_speech = ok && towers;
    gi_gguf_close(gguf);
    model->device->is_busy = false;
    return ok;
}

struct glinfer_model *gi_model_load_tower(struct glinfer_device *device,
                                          const struct glinfer_source *source,
                                          const struct glinfer_model_params *params,
                                          const struct gi_tower *tower, struct glinfer_error *err)
{
    struct glinfer_model *model = gi_array_zeroed(1, sizeof(*model), "a model", err);
    if (!model) {
        return NULL;
    }
    model->device = device;
    model->tower = tower ? *tower : (struct gi_tower){0};
    model->next = device->models;
    device->models = model;
    model->mem_budget = params->mem_budget;
    model->is_doomed = !load_source(model, source, params, err);
    return model->is_doomed ? NULL : model;
}

// Leaves of a budget, 0 for none, what one tower does not need.
static void take_budget(uint64_t *budget, const struct glinfer_model_info *info)
{
    const uint64_t needed = info->weights + info->kv_cache + info->scratch;
    *budget = *budget == 0 ? 0 : *budget > needed ? *budget - needed : 1;
}

struct glinfer_model *gi_model_load(struct glinfer_device *device,
                                    const struct glinfer_source *source,
                                    const struct glinfer_model_params *params,
                                    struct glinfer_error *err)
{
    struct glinfer_model *model = gi_model_load_tower(device, source, params, NULL, err);
    if (!model || !model->info.is_speech) {
        return model;
    }
    struct glinfer_model_params rest = *params;
    take_budget(&rest.mem_budget, &model->info);
    model->encoder =
        gi_model_load_tower(device, source, &rest, &gi_whisper_towers[GI_TOWER_ENCODER], err);
    model->is_doomed = !model->encoder;
    if (model->encoder) {
        take_budget(&model->mem_budget, &model->encoder->info);
        add_tower(&model->info, &model->encoder->info);
    }
    return model->is_doomed ? NULL : model;
}

bool gi_model_check_text(const struct glinfer_model *model, struct glinfer_error *err)
{
    return !model->info.is_speech ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "the model is one of speech: it transcribes sound, as "
                        "glinfer transcribe does, and generates no other text");
}

bool gi_model_check_decoder(const struct glinfer_model *model, struct glinfer_error *err)
{
    return !model->hparams.is_encoder ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "a model of the family %s is an encoder: it computes embeddings and "
                        "generates no text",
                        model->info.architecture);
}

//-- again ---------------------------------------------------------------------------------------

void gi_model_release(struct glinfer_model *model)
{
    gi_weight_store_finish(&model->store, model->device->gpu);
}

// Returns true if the file still holds what was loaded from it, as far as its sizes tell.
static bool check_same(const struct glinfer_model *model, const struct gi_gguf *gguf,
                       struct glinfer_error *err)
{
    struct glinfer_model_info info = {0};
    if (!gi_model_info_file(&info, gguf, model->tokenizer.core, err)) {
        return false;
    }
    return (info.file_size == model->info.file_size && info.n_params == model->info.n_params &&
            strcmp(info.types, model->info.types) == 0) ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s is not the file that the model was loaded from", gi_gguf_path(gguf));
}

bool gi_model_can_restore(const struct glinfer_model *model, struct glinfer_error *err)
{
    if (model->source.is_transient) {
        return gi_error_set(
            err, GLINFER_STATUS_UNSUPPORTED,
            "%s was only there while the model was loaded (is_transient), so that its "
            "weights cannot be read again: destroy the model and load it anew",
            model->source.name);
    }
    return gi_model_adapters_can_reopen(&model->adapters, err);
}

bool gi_model_restore(struct glinfer_model *model, glinfer_progress_fn progress, void *user,
                      struct glinfer_error *err)
{
    const struct glinfer_model_params params = {.progress = progress, .progress_user = user};
    struct gi_model_plan plan;
    struct gi_gguf *gguf = gi_hf_open_source(&model->source, err);
    struct gi_adapter_set adapters = {0};
    bool ok = gguf && check_same(model, gguf, err) &&
              gi_model_adapters_reopen(&model->adapters, gguf, &adapters, err) &&
              plan_file(model, gguf, &adapters, &plan, err);
    if (ok) {
        ok = load_weights(model, &plan, &params, err);
        gi_model_plan_finish(&plan);
    }
    gi_adapter_set_close(&adapters);
    gi_gguf_close(gguf);
    return ok;
}

void gi_model_destroy(struct glinfer_model *model)
{
    struct gi_gpu *gpu = model->device->gpu;
    struct gi_platform_saved saved;
    if (gi_gpu_enter_last(gpu, &saved)) {
        gi_model_release(model);
        gi_gpu_unbind(gpu);
        gi_gpu_leave(gpu, &saved);
    }
    if (model->encoder) {
        model->encoder->is_doomed = true;
    }
    gi_whisper_model_finish(&model->speech);
    gi_grammar_vocab_destroy(model->grammar_vocab);
    gi_tokenizer_destroy(model->tokenizer.core);
    free(model->norms);
    free(model->rope_factors);
    free(model->long_rope_factors);
    free(model->positions);
    gi_dense_head_finish(&model->head);
    gi_source_drop(&model->source);
    gi_model_adapters_finish(&model->adapters);
    struct glinfer_model **place = &model->device->models;
    while (*place != model) {
        place = &(*place)->next;
    }
    *place = model->next;
    free(model);
}
