#include "cli/tools/cli_synthetic.h"

#include <stdint.h>
#include <string.h>

// Types of weights by their number in the file, with where a block has its scales: halves that are
// set to small numbers, so that what a block holds otherwise may be anything.
static const struct type {
    uint32_t id, n_value, size, scales[2]; // scales: byte of each; 0xFFFF: none
    uint16_t scale;                        // bits of a half
} types[] = {
    {0, 1, 4, {0xFFFF, 0xFFFF}, 0},        // f32: from 0.5 to 1
    {2, 32, 18, {0, 0xFFFF}, 0x2000},      // q4_0
    {3, 32, 20, {0, 2}, 0x2000},           // q4_1
    {8, 32, 34, {0, 0xFFFF}, 0x1000},      // q8_0
    {12, 256, 144, {0, 2}, 0x0800},        // q4_k
    {13, 256, 176, {0, 2}, 0x0800},        // q5_k
    {14, 256, 210, {208, 0xFFFF}, 0x0400}, // q6_k
};
enum { F32, Q4_0, Q4_1, Q8_0, Q4_K, Q5_K, Q6_K };

// Layer i has weights of type layers[i]; ends are the embedding, which is the output too.
static const struct shape {
    const char *arch;
    uint32_t n_embd, n_head, n_kv_head, head_dim, n_ff, n_expert, n_layer;
    uint8_t layers[6], ends;
    bool has_head_norm;
} shapes[] = {
    {"llama", 256, 4, 2, 64, 512, 0, 6, {Q4_0, Q4_1, Q8_0, Q4_K, Q5_K, Q6_K}, Q8_0, false},
    {"qwen3", 512, 4, 2, 128, 768, 0, 2, {Q4_0, Q8_0}, Q6_K, true},
    {"qwen3moe", 256, 4, 2, 64, 256, 8, 2, {Q4_0, Q4_K}, Q4_0, true},
};

enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]), N_VOCAB = 2048, ALIGNMENT = 32 };

struct writer {
    FILE *file; // NULL: tensors are counted
    uint64_t n_tensor, offset;
    uint32_t random;
    bool is_data; // of tensors, not their directory
};

static void write_bytes(struct writer *writer, const void *data, size_t size)
{
    if (writer->file) {
        fwrite(data, 1, size, writer->file);
    }
}

// Numbers are little-endian, as all that glinfer runs on are.
static void write_u32(struct writer *writer, uint32_t value)
{
    write_bytes(writer, &value, sizeof(value));
}

static void write_u64(struct writer *writer, uint64_t value)
{
    write_bytes(writer, &value, sizeof(value));
}

static void write_text(struct writer *writer, const char *text)
{
    write_u64(writer, strlen(text));
    write_bytes(writer, text, strlen(text));
}

//-- metadata --------------------------------------------------------------------------------------

enum { KIND_U32 = 4, KIND_F32 = 6, KIND_TEXT = 8, KIND_ARRAY = 9 };

static void write_key(struct writer *writer, const char *arch, const char *name, uint32_t kind)
{
    char key[80];
    snprintf(key, sizeof(key), "%s.%s", arch, name);
    write_text(writer, key);
    write_u32(writer, kind);
}

static void write_count(struct writer *writer, const char *arch, const char *name, uint32_t value)
{
    write_key(writer, arch, name, KIND_U32);
    write_u32(writer, value);
}

static void write_number(struct writer *writer, const char *arch, const char *name, float value)
{
    write_key(writer, arch, name, KIND_F32);
    write_bytes(writer, &value, sizeof(value));
}

enum { N_KEYS = 17 };

static void write_metadata(struct writer *writer, const struct shape *shape)
{
    const char *arch = shape->arch;
    write_key(writer, "general", "architecture", KIND_TEXT);
    write_text(writer, arch);
    write_count(writer, arch, "context_length", 4096);
    write_count(writer, arch, "embedding_length", shape->n_embd);
    write_count(writer, arch, "block_count", shape->n_layer);
    write_count(writer, arch, "feed_forward_length", shape->n_ff);
    write_count(writer, arch, "expert_feed_forward_length", shape->n_ff);
    write_count(writer, arch, "expert_count", shape->n_expert);
    write_count(writer, arch, "expert_used_count", shape->n_expert / 4);
    write_count(writer, arch, "attention.head_count", shape->n_head);
    write_count(writer, arch, "attention.head_count_kv", shape->n_kv_head);
    write_count(writer, arch, "attention.key_length", shape->head_dim);
    write_count(writer, arch, "attention.value_length", shape->head_dim);
    write_number(writer, arch, "attention.layer_norm_rms_epsilon", 1e-5f);
    write_number(writer, arch, "rope.freq_base", 10000);
    write_key(writer, "tokenizer.ggml", "model", KIND_TEXT);
    write_text(writer, "llama");
    write_key(writer, "tokenizer.ggml", "tokens", KIND_ARRAY);
    write_u32(writer, KIND_TEXT);
    write_u64(writer, N_VOCAB);
    for (uint32_t i = 0; i < N_VOCAB; i++) {
        char token[16];
        snprintf(token, sizeof(token), "t%u", i);
        write_text(writer, token);
    }
    write_key(writer, "tokenizer.ggml", "scores", KIND_ARRAY);
    write_u32(writer, KIND_F32);
    write_u64(writer, N_VOCAB);
    for (uint32_t i = 0; i < N_VOCAB; i++) {
        write_u32(writer, 0); // 0.0
    }
}

//-- tensors ---------------------------------------------------------------------------------------

static uint32_t next_random(struct writer *writer)
{
    writer->random ^= writer->random << 13;
    writer->random ^= writer->random >> 17;
    writer->random ^= writer->random << 5;
    return writer->random;
}

static void write_block(struct writer *writer, const struct type *type)
{
    uint8_t block[256];
    const uint32_t number = 0x3F000000u | next_random(writer) >> 9;
    for (uint32_t i = 0; i < type->size; i++) {
        block[i] = (uint8_t)(next_random(writer) >> 11);
    }
    for (uint32_t i = 0; i < 2 && type->scales[i] < type->size; i++) {
        memcpy(block + type->scales[i], &type->scale, sizeof(type->scale));
    }
    write_bytes(writer, type->n_value == 1 ? (const void *)&number : block, type->size);
}

// Counts a tensor, writes its entry in the directory or its data. Dimensions of 0 are not used.
static void add(struct writer *writer, const char *name, uint32_t index, const uint32_t dims[3])
{
    const struct type *type = &types[index];
    const uint32_t n_dim = dims[2] ? 3 : dims[1] ? 2 : 1;
    const uint64_t rows = (uint64_t)(dims[1] ? dims[1] : 1) * (dims[2] ? dims[2] : 1);
    const uint64_t n_block = dims[0] / type->n_value * rows, size = n_block * type->size;
    const uint64_t padding = (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
    const uint8_t zeros[ALIGNMENT] = {0};
    writer->n_tensor++;
    if (writer->is_data) {
        for (uint64_t i = 0; i < n_block; i++) {
            write_block(writer, type);
        }
        write_bytes(writer, zeros, padding);
        return;
    }
    write_text(writer, name);
    write_u32(writer, n_dim);
    for (uint32_t i = 0; i < n_dim; i++) {
        write_u64(writer, dims[i]);
    }
    write_u32(writer, type->id);
    write_u64(writer, writer->offset);
    writer->offset += size + padding;
}

static void add_of_layer(struct writer *writer, uint32_t layer, const char *name, uint32_t type,
                         uint32_t n_cols, uint32_t n_rows, uint32_t n_expert)
{
    char full[64];
    snprintf(full, sizeof(full), "blk.%u.%s.weight", layer, name);
    add(writer, full, type, (const uint32_t[3]){n_cols, n_rows, n_expert});
}

static void add_layer(struct writer *writer, const struct shape *shape, uint32_t i)
{
    const uint32_t type = shape->layers[i], n = shape->n_embd, n_ff = shape->n_ff;
    const uint32_t n_q = shape->n_head * shape->head_dim, n_kv = shape->n_kv_head * shape->head_dim;
    const bool is_moe = shape->n_expert > 0;
    add_of_layer(writer, i, "attn_norm", F32, n, 0, 0);
    add_of_layer(writer, i, "attn_q", type, n, n_q, 0);
    add_of_layer(writer, i, "attn_k", type, n, n_kv, 0);
    add_of_layer(writer, i, "attn_v", type, n, n_kv, 0);
    add_of_layer(writer, i, "attn_output", type, n_q, n, 0);
    if (shape->has_head_norm) {
        add_of_layer(writer, i, "attn_q_norm", F32, shape->head_dim, 0, 0);
        add_of_layer(writer, i, "attn_k_norm", F32, shape->head_dim, 0, 0);
    }
    add_of_layer(writer, i, "ffn_norm", F32, n, 0, 0);
    if (is_moe) {
        add_of_layer(writer, i, "ffn_gate_inp", F32, n, shape->n_expert, 0);
    }
    add_of_layer(writer, i, is_moe ? "ffn_gate_exps" : "ffn_gate", type, n, n_ff, shape->n_expert);
    add_of_layer(writer, i, is_moe ? "ffn_up_exps" : "ffn_up", type, n, n_ff, shape->n_expert);
    add_of_layer(writer, i, is_moe ? "ffn_down_exps" : "ffn_down", type, n_ff, n, shape->n_expert);
}

static void add_tensors(struct writer *writer, const struct shape *shape)
{
    add(writer, "token_embd.weight", shape->ends, (const uint32_t[3]){shape->n_embd, N_VOCAB, 0});
    add(writer, "output_norm.weight", F32, (const uint32_t[3]){shape->n_embd, 0, 0});
    for (uint32_t i = 0; i < shape->n_layer; i++) {
        add_layer(writer, shape, i);
    }
}

const char *cli_synthetic_name(size_t i)
{
    return i < N_SHAPES ? shapes[i].arch : NULL;
}

bool cli_synthetic_write(size_t i, FILE *file)
{
    const struct shape *shape = &shapes[i];
    struct writer counter = {0}, writer = {.file = file, .random = 2463534242u};
    add_tensors(&counter, shape);
    write_bytes(&writer, "GGUF", 4);
    write_u32(&writer, 3);
    write_u64(&writer, counter.n_tensor);
    write_u64(&writer, N_KEYS);
    write_metadata(&writer, shape);
    add_tensors(&writer, shape);
    for (long at = ftell(file); at % ALIGNMENT != 0; at++) {
        fputc(0, file);
    }
    writer.is_data = true;
    add_tensors(&writer, shape);
    return fflush(file) == 0 && !ferror(file);
}
