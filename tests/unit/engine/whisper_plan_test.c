// The plan of a Whisper model whose header does not agree with itself or with its tensors.
#include "engine/model/plan/towers.h"
#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_FILE = 512 << 10 };

static uint8_t file[MAX_FILE];
static size_t file_size;

static int read_model(void **state)
{
    FILE *stream = fopen(test_data("data/models/tiny-whisper_f32.bin"), "rb");
    (void)state;
    if (!stream) {
        return -1;
    }
    file_size = fread(file, 1, sizeof(file), stream);
    fclose(stream);
    return file_size > 0 ? 0 : -1;
}

// Opens the file and plans both towers; stops at the first failure.
static bool plan_towers(size_t size, struct glinfer_error *err)
{
    static const struct gi_plan_limits limits = {.max_range = 1 << 27, .alignment = 256};
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_MEMORY(file, size, "test.bin"), err);
    const struct gi_tower *towers = gguf ? gi_towers_find(gguf) : NULL;
    bool ok = towers != NULL;
    for (int i = 0; ok && i < GI_TOWER_COUNT; i++) {
        struct gi_model_plan plan;
        ok = gi_model_plan_init(&plan, gguf, &towers[i], &limits, NULL, err);
        if (ok) {
            gi_model_plan_finish(&plan);
        }
    }
    gi_gguf_close(gguf);
    return ok;
}

// Offsets of numbers of the header.
enum {
    VOCAB = 4,
    AUDIO_WIDTH = 12,
    AUDIO_HEADS = 16,
    AUDIO_LAYERS = 20,
    TEXT_WIDTH = 28,
    TEXT_HEADS = 32,
    TEXT_LAYERS = 36,
};

static const struct {
    uint32_t at, value; // in place of the number there
    const char *says;   // NULL: the file is sound
} cases[] = {
    {VOCAB, 200, NULL},
    {VOCAB, 201, "whisper.vocab_size is 201, but token_embd.weight has 200 rows"},
    {VOCAB, 180, "whisper.vocab_size is 180, but token_embd.weight has 200 rows"},
    {AUDIO_WIDTH, 64, "does not suit a decoder of 2 layers, 32 columns and 1 heads"},
    {AUDIO_WIDTH, 33, "only multiples of"},
    {AUDIO_WIDTH, 48, "an encoder of 48 columns is not supported"},
    {AUDIO_HEADS, 2, "does not suit a decoder"},
    {AUDIO_HEADS, 3, "heads of 10"},
    {AUDIO_HEADS, 1024, "heads"},
    {AUDIO_LAYERS, 1, "appears twice"},
    {AUDIO_LAYERS, 3, "enc.blk.2."},
    {AUDIO_LAYERS, 1024, "does not suit a decoder"},
    {TEXT_WIDTH, 64, "blk.0.attn_norm.weight has shape 32"},
    {TEXT_HEADS, 3, "heads of 10"},
    {TEXT_LAYERS, 3, "blk.4."},
    {TEXT_LAYERS, 1024, "1024 layers of the decoder, expected at most 512"},
};

TEST(headers_that_do_not_agree_are_refused)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t kept[4];
        struct glinfer_error err = {0};
        memcpy(kept, file + cases[i].at, sizeof(kept));
        for (int j = 0; j < 4; j++) {
            file[cases[i].at + j] = (uint8_t)(cases[i].value >> 8 * j);
        }
        const bool ok = plan_towers(file_size, &err);
        memcpy(file + cases[i].at, kept, sizeof(kept));
        if (ok != !cases[i].says) {
            fail_msg("case %zu: %s", i, ok ? "is accepted" : err.message);
        }
        if (!ok) {
            assert_true(err.status == GLINFER_STATUS_BAD_FILE ||
                        err.status == GLINFER_STATUS_UNSUPPORTED);
            assert_memory_equal(err.message, "test.bin: ", 10);
            assert_says(err.message, cases[i].says);
        }
    }
}

// The ends of the last tensors are among these: only the whole file has all of them.
TEST(a_cut_model_is_refused)
{
    for (size_t size = 0; size<file_size; size += file_size - size> 600 ? 20 : 1) {
        struct glinfer_error err = {0};
        if (plan_towers(size, &err)) {
            fail_msg("%zu bytes are accepted", size);
        }
        assert_int_equal(err.status, GLINFER_STATUS_BAD_FILE);
    }
}

RUN_TESTS(read_model, NULL)
