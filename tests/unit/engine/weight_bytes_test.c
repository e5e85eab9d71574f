// Tests the GPU memory of files of true shapes: no more than 3 % over the bytes of their tensors,
// whatever mixture of types they have, and every part is of its tensor's type. Nothing is read of
// the weights: the file is a header before pages that are never touched.
#include "engine/model/plan/model_plan.h"
#include "engine/model/plan/plan_rows.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_builder.h"

#include <stdio.h>
#include <sys/mman.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { N_LAYER = 2 };

struct shape {
    const char *label, *family;
    uint32_t n_embd, n_head, n_kv_head, head_dim, n_ff, n_vocab, n_expert;
    bool is_tied;
};

static const struct shape shapes[] = {
    {"SmolLM2 135M", "llama", 576, 9, 3, 64, 1536, 49152, 0, true},
    {"Llama 3.2 1B", "llama", 2048, 32, 8, 64, 8192, 128256, 0, true},
    {"TinyLlama", "llama", 2048, 32, 4, 64, 5632, 32000, 0, false},
    {"Mistral 7B", "llama", 4096, 32, 8, 128, 14336, 32000, 0, false},
    {"Qwen 2.5 0.5B", "qwen2", 896, 14, 2, 64, 4864, 151936, 0, true},
    {"Qwen 3 1.7B", "qwen3", 2048, 16, 8, 128, 6144, 151936, 0, true},
    {"Gemma 3 1B", "gemma3", 1152, 4, 1, 256, 6912, 262144, 0, true},
    {"Phi 4 mini", "phi3", 3072, 24, 8, 128, 8192, 200064, 0, true},
    {"OLMo 2 1B", "olmo2", 2048, 16, 16, 128, 8192, 100352, 0, false},
    {"Qwen 3 30B", "qwen3moe", 2048, 32, 4, 128, 768, 151936, 128, false},
};

// Types by tensor, in the order of struct types.
static const struct mixture {
    const char *label, *types;
} mixtures[] = {
    {"Q4_0", "q4_0 q4_0 q4_0 q4_0 q4_0 q4_0 q4_0 q6_k q6_k"},
    {"Q8_0", "q8_0 q8_0 q8_0 q8_0 q8_0 q8_0 q8_0 q8_0 q8_0"},
    {"Q2_K", "q2_k q2_k q3_k q3_k q2_k q2_k q3_k q2_k q6_k"},
    {"Q3_K_L", "q3_k q3_k q5_k q5_k q3_k q3_k q5_k q3_k q6_k"},
    {"Q4_K_M", "q4_k q4_k q6_k q4_k q4_k q4_k q6_k q4_k q6_k"},
    {"Q5_K_M", "q5_k q5_k q6_k q5_k q5_k q5_k q6_k q5_k q6_k"},
    {"IQ4_XS", "iq4_xs iq4_xs q5_k iq4_xs iq4_xs iq4_xs q5_k iq4_xs q6_k"},
    {"IQ2_M", "iq2_s iq2_s iq3_s iq3_xxs iq2_xxs iq2_xs iq3_s iq3_s q5_k"},
    {"BF16", "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16"},
    {"each another", "q4_k q8_0 q4_k f16 q3_k q5_k iq4_xs q6_k f32"},
};

struct types {
    char q[8], k[8], v[8], o[8], gate[8], up[8], down[8], embed[8], output[8];
};

// Returns the type that a quantizer uses instead for rows that are not a multiple of 256.
static const char *fallback_type(const char *type)
{
    static const char *const pairs[][2] = {{"q4_k", "q5_0"}, {"q5_k", "q5_1"}, {"q6_k", "q8_0"}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        if (strcmp(type, pairs[i][0]) == 0) {
            return pairs[i][1];
        }
    }
    return "iq4_nl";
}

static const struct gi_ggml_type_info *find_type(const char *name)
{
    const struct gi_ggml_type_info *info = NULL;
    for (uint32_t type = 0; type < 64 && (!info || strcmp(info->name, name) != 0); type++) {
        info = gi_ggml_type_find(type);
    }
    return info;
}

//-- a file ----------------------------------------------------------------------------------------

struct file {
    const struct shape *shape;
    struct types types;
    struct gguf_builder body;
    uint64_t n_pairs, n_tensors, size; // size of the tensors
};

static void add_count(struct file *file, const char *name, uint32_t value)
{
    char key[96];
    snprintf(key, sizeof(key), "%s.%s", file->shape->family, name);
    gguf_pair_u32(&file->body, key, value);
    file->n_pairs++;
}

static void add_pairs(struct file *file)
{
    const struct shape *shape = file->shape;
    gguf_pair_string(&file->body, "general.architecture", shape->family);
    file->n_pairs++;
    add_count(file, "block_count", N_LAYER);
    add_count(file, "embedding_length", shape->n_embd);
    add_count(file, "feed_forward_length", shape->n_ff);
    add_count(file, "context_length", 4096);
    add_count(file, "attention.head_count", shape->n_head);
    add_count(file, "attention.head_count_kv", shape->n_kv_head);
    add_count(file, "attention.key_length", shape->head_dim);
    add_count(file, "attention.value_length", shape->head_dim);
    if (shape->n_expert) {
        add_count(file, "expert_count", shape->n_expert);
        add_count(file, "expert_used_count", 8);
    }
}

static void add_tensor(struct file *file, uint32_t layer, const char *name, const char *type,
                       uint64_t cols, uint64_t rows, uint64_t n_matrix)
{
    char full[96];
    const uint64_t dims[] = {cols, rows, n_matrix};
    const struct gi_ggml_type_info *info = find_type(type);
    if (cols % info->block_size) {
        info = find_type(fallback_type(type));
    }
    if (layer < N_LAYER) {
        snprintf(full, sizeof(full), "blk.%u.%s.weight", layer, name);
    } else {
        snprintf(full, sizeof(full), "%s.weight", name);
    }
    gguf_tensor(&file->body, full, n_matrix > 1 ? 3 : 2, dims, info->type, file->size);
    file->size += cols / info->block_size * info->block_bytes * rows * n_matrix;
    file->size = (file->size + 31) / 32 * 32;
    file->n_tensors++;
}

static void add_norm(struct file *file, uint32_t layer, const char *name, uint64_t size)
{
    add_tensor(file, layer, name, "f32", size, 1, 1);
}

static void add_attention(struct file *file, uint32_t layer)
{
    const struct shape *s = file->shape;
    const struct types *m = &file->types;
    const uint32_t n_q = s->n_head * s->head_dim, n_kv = s->n_kv_head * s->head_dim;
    const bool is_olmo = strcmp(s->family, "olmo2") == 0;
    add_norm(file, layer, "attn_norm", s->n_embd);
    add_norm(file, layer, "attn_q_norm", is_olmo ? n_q : s->head_dim);
    add_norm(file, layer, "attn_k_norm", is_olmo ? n_kv : s->head_dim);
    add_norm(file, layer, "post_attention_norm", s->n_embd);
    add_norm(file, layer, "ffn_norm", s->n_embd);
    add_norm(file, layer, "post_ffw_norm", s->n_embd);
    if (strcmp(s->family, "phi3") == 0) {
        add_tensor(file, layer, "attn_qkv", m->q, s->n_embd, n_q + 2 * n_kv, 1);
    } else {
        add_tensor(file, layer, "attn_q", m->q, s->n_embd, n_q, 1);
        add_tensor(file, layer, "attn_k", m->k, s->n_embd, n_kv, 1);
        add_tensor(file, layer, "attn_v", m->v, s->n_embd, n_kv, 1);
    }
    add_tensor(file, layer, "attn_output", m->o, n_q, s->n_embd, 1);
}

static void add_network(struct file *file, uint32_t layer)
{
    const struct shape *s = file->shape;
    const struct types *m = &file->types;
    if (s->n_expert) {
        add_tensor(file, layer, "ffn_gate_inp", "f32", s->n_embd, s->n_expert, 1);
        add_tensor(file, layer, "ffn_gate_exps", m->gate, s->n_embd, s->n_ff, s->n_expert);
        add_tensor(file, layer, "ffn_up_exps", m->up, s->n_embd, s->n_ff, s->n_expert);
        add_tensor(file, layer, "ffn_down_exps", m->down, s->n_ff, s->n_embd, s->n_expert);
        return;
    }
    if (strcmp(s->family, "phi3") == 0) {
        add_tensor(file, layer, "ffn_up", m->up, s->n_embd, 2 * s->n_ff, 1);
    } else {
        add_tensor(file, layer, "ffn_gate", m->gate, s->n_embd, s->n_ff, 1);
        add_tensor(file, layer, "ffn_up", m->up, s->n_embd, s->n_ff, 1);
    }
    add_tensor(file, layer, "ffn_down", m->down, s->n_ff, s->n_embd, 1);
}

static void add_tensors(struct file *file)
{
    const struct shape *s = file->shape;
    add_tensor(file, N_LAYER, "token_embd", file->types.embed, s->n_embd, s->n_vocab, 1);
    for (uint32_t layer = 0; layer < N_LAYER; layer++) {
        add_attention(file, layer);
        add_network(file, layer);
    }
    add_norm(file, N_LAYER, "output_norm", s->n_embd);
    if (!s->is_tied) {
        add_tensor(file, N_LAYER, "output", file->types.output, s->n_embd, s->n_vocab, 1);
    }
}

//-- tests -----------------------------------------------------------------------------------------

// No tensor is turned into another type.
static void check_types(const struct gi_model_plan *plan)
{
    for (uint32_t w = 0; w < plan->n_weights; w++) {
        const struct gi_plan_weight *weight = &plan->weights[w];
        for (uint32_t p = 0; p < weight->weight.n_parts; p++) {
            const struct gi_weight_part *part = &weight->weight.parts[p];
            uint32_t source, row;
            for (uint32_t i = 0; i < part->n_rows; i++) {
                if (gi_plan_weight_row(plan, weight, part, i, &source, &row)) {
                    assert_int_equal(weight->sources[source].tensor->type->type, part->quant->type);
                }
            }
        }
    }
}

static void check_bytes(const struct shape *shape, const struct mixture *mixture)
{
    const struct gi_plan_limits limits = {.max_range = 1 << 27, .alignment = 256};
    struct file file = {.shape = shape};
    struct types *t = &file.types;
    struct gguf_builder header = {0};
    struct gi_model_plan plan = {0};
    struct glinfer_error err;
    assert_int_equal(sscanf(mixture->types, "%7s %7s %7s %7s %7s %7s %7s %7s %7s", t->q, t->k, t->v,
                            t->o, t->gate, t->up, t->down, t->embed, t->output),
                     9);
    add_pairs(&file);
    add_tensors(&file);
    gguf_header(&header, file.n_tensors, file.n_pairs);
    gguf_bytes(&header, file.body.data, file.body.size);
    gguf_pad(&header, 32);
    const size_t size = header.size + (size_t)file.size;
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    memcpy(map, header.data, header.size);
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_MEMORY(map, size, "test.gguf"), &err);
    if (!gguf || !gi_model_plan_init(&plan, gguf, NULL, &limits, NULL, &err)) {
        fail_msg("%s, %s: %s", shape->label, mixture->label, err.message);
    }
    if (plan.weight_bytes > file.size + file.size * 3 / 100) {
        fail_msg("%s, %s: %llu bytes on the GPU, %llu in the file", shape->label, mixture->label,
                 (unsigned long long)plan.weight_bytes, (unsigned long long)file.size);
    }
    check_types(&plan);
    gi_model_plan_finish(&plan);
    gi_gguf_close(gguf);
    munmap(map, size);
    gguf_finish(&header);
    gguf_finish(&file.body);
}

TEST(weights_take_what_they_take_in_the_file)
{
    for (size_t s = 0; s < COUNT(shapes); s++) {
        for (size_t m = 0; m < COUNT(mixtures); m++) {
            check_bytes(&shapes[s], &mixtures[m]);
        }
    }
}

RUN_TESTS(NULL, NULL)
