#include "engine/model/model_info.h"

#include "base/memory_room.h"
#include "base/printable.h"
#include "base/round.h"
#include "engine/model/plan/towers.h"
#include "engine/model/session_layout.h"

#include <stdio.h>
#include <string.h>

static void copy_string(char *out, size_t size, struct gi_gguf_string text)
{
    const size_t n = text.size < size - 1 ? text.size : size - 1;
    if (n > 0) {
        memcpy(out, text.data, n);
    }
    out[gi_printable(out, n)] = 0;
}

//-- types ---------------------------------------------------------------------------------------

enum { MAX_TYPES = 64 };

static void list_types(struct glinfer_model_info *info, const struct gi_gguf *gguf)
{
    uint32_t counts[MAX_TYPES] = {0};
    for (size_t i = 0; i < gi_gguf_tensor_count(gguf); i++) {
        const struct gi_gguf_tensor *tensor = gi_gguf_tensor_at(gguf, i);
        counts[tensor->type->type % MAX_TYPES]++;
        info->weight_size += tensor->size;
        info->n_params += tensor->n_elements;
    }
    for (;;) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < MAX_TYPES; i++) {
            most = counts[i] > counts[most] ? i : most;
        }
        if (counts[most] == 0) {
            break;
        }
        const size_t used = strlen(info->types);
        snprintf(info->types + used, sizeof(info->types) - used, "%s%u %s", used ? ", " : "",
                 counts[most], gi_ggml_type_find(most)->name);
        counts[most] = 0;
    }
    struct gi_gguf_string format = {0};
    const size_t used = strlen(info->types);
    if (gi_gguf_get_string(gguf, "glinfer.mlx.format", &format, NULL) && format.size > 0) {
        snprintf(info->types + used, sizeof(info->types) - used, " (%.*s)", (int)format.size,
                 format.data);
    }
}

// Names the type of the most bytes of weights, in capitals as llama-bench does.
static void name_main_type(const struct gi_gguf *gguf, char out[16])
{
    uint64_t sizes[MAX_TYPES] = {0};
    uint32_t most = 0;
    for (size_t i = 0; i < gi_gguf_tensor_count(gguf); i++) {
        const struct gi_gguf_tensor *tensor = gi_gguf_tensor_at(gguf, i);
        const uint32_t type = tensor->type->type % MAX_TYPES;
        sizes[type] += tensor->size;
        most = sizes[type] > sizes[most] ? type : most;
    }
    const struct gi_ggml_type_info *type = gi_ggml_type_find(most);
    const char *name = type ? type->name : "?";
    size_t i = 0;
    for (; name[i] && i < 15; i++) {
        out[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
    }
    out[i] = 0;
}

// Mixtures of types by their numbers in general.file_type, each with a type that it is named after.
static const struct {
    uint32_t number;
    const char *name;
    enum gi_ggml_type type;
} mixtures[] = {
    {10, "Q2_K", GI_GGML_TYPE_Q2_K},     {11, "Q3_K_S", GI_GGML_TYPE_Q3_K},
    {12, "Q3_K_M", GI_GGML_TYPE_Q3_K},   {13, "Q3_K_L", GI_GGML_TYPE_Q3_K},
    {14, "Q4_K_S", GI_GGML_TYPE_Q4_K},   {15, "Q4_K_M", GI_GGML_TYPE_Q4_K},
    {16, "Q5_K_S", GI_GGML_TYPE_Q5_K},   {17, "Q5_K_M", GI_GGML_TYPE_Q5_K},
    {18, "Q6_K", GI_GGML_TYPE_Q6_K},     {19, "IQ2_XXS", GI_GGML_TYPE_IQ2_XXS},
    {20, "IQ2_XS", GI_GGML_TYPE_IQ2_XS}, {21, "Q2_K_S", GI_GGML_TYPE_Q2_K},
    {22, "IQ3_XS", GI_GGML_TYPE_IQ3_S},  {23, "IQ3_XXS", GI_GGML_TYPE_IQ3_XXS},
    {24, "IQ1_S", GI_GGML_TYPE_IQ1_S},   {25, "IQ4_NL", GI_GGML_TYPE_IQ4_NL},
    {26, "IQ3_S", GI_GGML_TYPE_IQ3_S},   {27, "IQ3_M", GI_GGML_TYPE_IQ3_S},
    {28, "IQ2_S", GI_GGML_TYPE_IQ2_XS},  {29, "IQ2_M", GI_GGML_TYPE_IQ2_S},
    {30, "IQ4_XS", GI_GGML_TYPE_IQ4_XS}, {31, "IQ1_M", GI_GGML_TYPE_IQ1_M},
    {36, "TQ1_0", GI_GGML_TYPE_TQ1_0},   {37, "TQ2_0", GI_GGML_TYPE_TQ2_0},
    {38, "MXFP4", GI_GGML_TYPE_MXFP4},   {39, "NVFP4", GI_GGML_TYPE_NVFP4},
    {40, "Q1_0", GI_GGML_TYPE_Q1_0},     {41, "Q2_0", GI_GGML_TYPE_Q2_0},
};

static bool has_type(const struct gi_gguf *gguf, enum gi_ggml_type type)
{
    bool has_any = false;
    for (size_t i = 0; i < gi_gguf_tensor_count(gguf); i++) {
        has_any = has_any || gi_gguf_tensor_at(gguf, i)->type->type == type;
    }
    return has_any;
}

// Names the types by general.file_type, because the type of most bytes does not tell a mixture: in
// a small model it is the embedding's. A number whose type the file does not have is left over from
// another file.
static void name_types(const struct gi_gguf *gguf, uint32_t number, char out[16])
{
    uint32_t bits = 0;
    if (gi_gguf_get_u32(gguf, "glinfer.mlx.bits", 0, &bits, NULL) && bits > 0) {
        snprintf(out, 16, "%u-bit", bits % 100);
        return;
    }
    for (size_t i = 0; i < sizeof(mixtures) / sizeof(mixtures[0]); i++) {
        if (mixtures[i].number == number && has_type(gguf, mixtures[i].type)) {
            snprintf(out, 16, "%s", mixtures[i].name);
            return;
        }
    }
    name_main_type(gguf, out);
}

static void describe(struct glinfer_model_info *info, const struct gi_gguf *gguf)
{
    char type[16], count[24];
    name_types(gguf, info->file_type, type);
    if (info->n_params >= 1000000000u) {
        snprintf(count, sizeof(count), "%.1fB", (double)info->n_params / 1e9);
    } else if (info->n_params < 1000000u) {
        snprintf(count, sizeof(count), "%.0fK", (double)info->n_params / 1e3);
    } else {
        snprintf(count, sizeof(count), "%.0fM", (double)info->n_params / 1e6);
    }
    snprintf(info->description, sizeof(info->description), "%s %s %s", info->architecture, count,
             type);
}

//-- the file ------------------------------------------------------------------------------------

// Returns a recommended number; -1 if it is missing or not from 0 to `most`.
static float read_recommended(const struct gi_gguf *gguf, const char *key, float most)
{
    float value = -1;
    return gi_gguf_get_f32(gguf, key, -1, &value, NULL) && value >= 0 && value <= most ? value : -1;
}

// Returns the tokens that a recommended penalty counts; -1, which u32 lacks, is the context.
static int32_t read_window(const struct gi_gguf *gguf)
{
    enum { DEFAULT = 64, MOST = 1 << 30 }; // of glinfer_samplers
    uint32_t n = 0;
    const bool is_count =
        gi_gguf_get_u32(gguf, "general.sampling.penalty_last_n", DEFAULT, &n, NULL) && n <= MOST;
    return is_count ? (int32_t)n : -1;
}

static void read_sampling(struct glinfer_model_info *info, const struct gi_gguf *gguf)
{
    const uint32_t unknown = UINT32_MAX;
    uint32_t top_k = unknown;
    info->temperature = read_recommended(gguf, "general.sampling.temp", 1000);
    info->top_p = read_recommended(gguf, "general.sampling.top_p", 1);
    info->min_p = read_recommended(gguf, "general.sampling.min_p", 1);
    const bool is_sound =
        gi_gguf_get_u32(gguf, "general.sampling.top_k", unknown, &top_k, NULL) && top_k <= 1 << 24;
    info->top_k = is_sound ? (int32_t)top_k : -1;
    info->repeat_penalty = read_recommended(gguf, "general.sampling.penalty_repeat", 1000);
    info->repeat_penalty = info->repeat_penalty >= 1e-6f ? info->repeat_penalty : -1;
    info->repeat_last_n = read_window(gguf);
}

static void copy_template(struct glinfer_model_info *info, const struct gi_gguf *gguf,
                          const struct gi_tokenizer *tokenizer)
{
    const char *fault = gi_tokenizer_template_fault(tokenizer);
    struct gi_gguf_string file = {0};
    char *text = info->template_fault;
    snprintf(info->chat_template, sizeof(info->chat_template), "%s",
             gi_tokenizer_template_name(tokenizer));
    if (fault[0]) {
        gi_gguf_get_string(gguf, "glinfer.tokenizer.template_file", &file, NULL);
        snprintf(text, sizeof(info->template_fault), "%s: cannot run the %s%.*s: %s",
                 gi_gguf_path(gguf), file.size ? "template in " : "chat template", (int)file.size,
                 file.data ? file.data : "", fault);
        text[gi_printable(text, strlen(text))] = 0;
    }
}

bool gi_model_info_file(struct glinfer_model_info *info, const struct gi_gguf *gguf,
                        const struct gi_tokenizer *tokenizer, struct glinfer_error *err)
{
    struct gi_gguf_string architecture, name, model, base = {0};
    if (!gi_gguf_get_string(gguf, "general.architecture", &architecture, err) ||
        !gi_gguf_get_string(gguf, "general.name", &name, err) ||
        !gi_gguf_get_string(gguf, "tokenizer.ggml.model", &model, err)) {
        return false;
    }
    copy_string(info->architecture, sizeof(info->architecture), architecture);
    copy_string(info->name, sizeof(info->name), name);
    gi_gguf_get_string(gguf, "general.base_model.0.name", &base, NULL);
    copy_string(info->base_model, sizeof(info->base_model), base);
    info->file_size = gi_gguf_file_size(gguf);
    list_types(info, gguf);
    gi_gguf_get_u32(gguf, "general.file_type", 0, &info->file_type, NULL);
    info->file_type %= 1000; // whisper.cpp adds a thousand for each version of quantisation
    describe(info, gguf);
    read_sampling(info, gguf);
    if (tokenizer) {
        snprintf(info->tokenizer, sizeof(info->tokenizer), "%s", gi_tokenizer_name(tokenizer));
        copy_template(info, gguf, tokenizer);
    } else {
        copy_string(info->tokenizer, sizeof(info->tokenizer), model);
    }
    return true;
}

//-- the estimate --------------------------------------------------------------------------------

// Adds up what sessions take beside their caches, and what drafts of one may.
static void plan_scratch(struct glinfer_model_info *info, const struct gi_graph *graph,
                         const uint64_t sizes[GI_SESSION_RANGE_COUNT], uint32_t alignment)
{
    const uint32_t n = info->n_sessions;
    uint64_t joint[GI_JOINT_RANGE_COUNT] = {0}, states, logits;
    info->scratch = 0;
    for (uint32_t i = 0; i < GI_SESSION_RANGE_COUNT; i++) {
        const uint64_t size = gi_session_range_size(n, i, sizes[i]);
        info->scratch += gi_round_up(size, alignment);
        info->largest_binding = gi_max_u64(info->largest_binding, size);
    }
    if (n > 1) {
        gi_joint_layout(graph, sizes, n, joint);
    }
    for (uint32_t i = 0; i < GI_JOINT_RANGE_COUNT; i++) {
        info->scratch += gi_round_up(joint[i], alignment);
        info->largest_binding = gi_max_u64(info->largest_binding, joint[i]);
    }
    gi_session_draft_sizes(GI_MAX_ROWS, sizes[GI_SESSION_LOGITS], &states, &logits);
    info->drafts = gi_round_up(states, alignment) + gi_round_up(logits, alignment);
}

void gi_model_info_plan(struct glinfer_model_info *info, const struct gi_model_plan *plan,
                        const struct glinfer_model_params *params, uint32_t alignment,
                        size_t n_tokens, uint32_t max_batch)
{
    enum { TOKEN_BYTES = 88 }; // of the vocabulary in memory, its merges included
    const struct gi_hparams *hparams = &plan->hparams;
    struct gi_graph graph = {
        .hparams = hparams, .qkv_layout = plan->qkv_layout, .norm_layout = plan->norm_layout};
    const bool is_tower = plan->tower.family;
    const uint32_t n_ctx = params->n_ctx && !is_tower ? params->n_ctx : gi_default_context(hparams);
    struct gi_session_shape shape = {
        .n_ctx = n_ctx,
        .n_batch = gi_default_batch(hparams, n_ctx, max_batch),
        .type_k = (enum gi_cache_type)params->type_k,
        .type_v = (enum gi_cache_type)params->type_v,
    };
    if (is_tower) { // its sessions ignore the types of params
        const struct gi_weight *weight = &plan->weights[GI_SLOT_QKV].weight;
        shape.type_k = shape.type_v = (enum gi_cache_type)gi_tower_cache(weight);
    }
    struct gi_session_kept kept;
    uint64_t sizes[GI_SESSION_RANGE_COUNT];
    gi_session_layout(&graph, &shape, &kept, sizes);
    info->n_layer = hparams->n_layer;
    info->n_mel = hparams->n_sound;
    info->checkpoint = gi_states_size(hparams);
    info->n_embd = hparams->n_embd;
    info->n_ff = hparams->n_ff;
    if (plan->family->n_weights > 0) { // else no layer has attention
        info->n_head = hparams->n_head;
        info->n_kv_head = hparams->n_kv_head;
        info->head_dim = hparams->head_dim;
    }
    info->n_vocab = hparams->n_vocab;
    info->n_ctx_train = hparams->n_ctx_train;
    info->n_ctx = shape.n_ctx;
    info->pooling = hparams->pooling;
    info->n_embedding = hparams->n_embd;
    info->is_encoder = hparams->is_encoder;
    const bool is_shared = is_tower && hparams->is_encoder; // one for all texts
    info->n_sessions = params->n_sessions && !is_shared ? params->n_sessions : 1;
    info->weights = plan->weight_bytes;
    info->kv_cache = 0;
    info->largest_binding = plan->largest_range;
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        const uint64_t own =
            gi_memory_layer(hparams, i) == i ? kept.sizes[gi_layer_kind(hparams, i)] : 0;
        const uint64_t size = gi_session_range_size(info->n_sessions, GI_SESSION_RANGE_COUNT, own);
        info->kv_cache += gi_round_up(size, alignment);
        info->largest_binding = gi_max_u64(info->largest_binding, size);
    }
    plan_scratch(info, &graph, sizes, alignment);
    info->peak_host = GI_HOST_BYTES + TOKEN_BYTES * (uint64_t)n_tokens;
}

// Reserve for the heap and stacks that remain after reading weights (SmolLM2, two threads: 5 MiB),
// so that a context that was offered does fit.
#define KEPT_BYTES (UINT64_C(8) << 20)

struct gi_budget gi_budget_find(uint64_t mem_budget, uint64_t used, bool is_software, uint64_t host)
{
    const char *limit = NULL;
    const uint64_t hard = is_software ? gi_memory_room(&limit) : UINT64_MAX;
    const uint64_t taken = host + GI_ROOM_TO_COMPILE;
    const uint64_t room = hard == UINT64_MAX ? hard : hard > taken ? hard - taken : 0;
    const uint64_t own = mem_budget == 0 ? UINT64_MAX : mem_budget > used ? mem_budget - used : 0;
    return own <= room ? (struct gi_budget){own, "the budget", 0}
                       : (struct gi_budget){room, limit, KEPT_BYTES};
}
