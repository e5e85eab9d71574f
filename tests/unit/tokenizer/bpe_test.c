#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"
#include "tests/unit/tokenizer/encoding.h"
#include "tests/unit/tokenizer/small_vocab.h"

#include <stdio.h>
#include <stdlib.h>

//-- helpers -----------------------------------------------------------------------------------

// The vocabulary of a test and the tokenizer that it made last.
static struct small_vocab small;
static struct gi_tokenizer *tokenizer;

static int setup(void **state)
{
    (void)state;
    small_vocab_init(&small);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gi_tokenizer_destroy(tokenizer);
    tokenizer = NULL;
    return 0;
}

static void create(void)
{
    gi_tokenizer_destroy(tokenizer);
    tokenizer = must_create(&small.vocab);
}

static void create_small(const char *pre)
{
    small.vocab.pre = small_text(pre);
    create();
}

#define EXPECT_IDS(text, flags, ...)                                                               \
    expect_ids(tokenizer, small_text(text), flags, IDS(__VA_ARGS__))

static void expect_round_trip(struct gi_text text)
{
    struct gi_ids ids = {0};
    size_t n = 0;
    must_do(gi_tokenizer_encode(tokenizer, text, false, false, &ids, &err));
    for (size_t i = 0; i < ids.count; i++) {
        struct gi_text bytes = gi_tokenizer_bytes(tokenizer, ids.data[i]);
        assert_true(n + bytes.size <= text.size);
        assert_memory_equal(text.data + n, bytes.data, bytes.size);
        n += bytes.size;
    }
    assert_int_equal(n, text.size);
    gi_ids_finish(&ids);
}

//-- texts -------------------------------------------------------------------------------------

static struct gi_vocab *make_vocab(void)
{
    small_vocab_init(&small);
    return &small.vocab;
}

TEST(bpe_encodes_texts)
{
    each_encoding("bpe", make_vocab);
}

TEST(bpe_keeps_every_byte)
{
    create_small("smollm");
    char ascii[128];
    for (int byte = 0; byte < 128; byte++) {
        ascii[byte] = (char)byte;
    }
    expect_round_trip((struct gi_text){ascii, sizeof(ascii)});
    expect_round_trip(small_text("\u00e9\u20ac\U0001f600 \u4e2d\u6587\n\t hello  12"));
}

TEST(bpe_encodes_long_runs)
{
    static char text[1 << 20];
    static const struct {
        const char *pre;
        char byte;
    } runs[] = {{"llama-bpe", 'l'}, {"llama-bpe", ' '}, {"llama-bpe", '\n'},
                {"llama-bpe", '1'}, {"llama-bpe", '.'}, {"llama-bpe", (char)0xff},
                {"tiny_aya", '1'},  {"tiny_aya", 'l'},  {"superbpe", '1'},
                {"kimi-k2", ' '}};
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        create_small(runs[i].pre);
        memset(text, runs[i].byte, sizeof(text));
        struct gi_ids ids = {0};
        struct gi_text run = {text, sizeof(text)};
        assert_true(gi_tokenizer_encode(tokenizer, run, false, true, &ids, NULL));
        assert_true(ids.count >= sizeof(text) / 2);
        gi_ids_finish(&ids);
    }
}

static void check_pre(const char *const fields[])
{
    char name[64];
    create_small(fields[0]);
    snprintf(name, sizeof(name), "gpt2/%s", fields[0]);
    assert_string_equal(gi_tokenizer_name(tokenizer), name);
    expect_round_trip(small_text("Hello,world!It's2024:x=0xFF;"));
    if (!fields[1]) {
        expect_round_trip(small_text("Hello, w\u00f6rld!  It's 2024:\n\n\t x = 0xFF; "));
    }
}

TEST(every_pretokenizer_of_the_reference_is_known)
{
    each_case("pretokenizers.cases", "pre", check_pre);
    create_small("");
}

//-- special tokens ----------------------------------------------------------------------------

TEST(stop_ids_are_known_by_spelling)
{
    create_small("smollm");
    int32_t ids[16];
    assert_int_equal(gi_tokenizer_stop_ids(tokenizer, ids), 2);
    assert_int_equal(ids[0], SMALL_END);
    assert_int_equal(ids[1], SMALL_IM_END);
}

TEST(stop_ids_leave_out_end_where_return_and_call_are)
{
    small.tokens[SMALL_TOOL] = small_text("<|end|>");
    small.tokens[SMALL_TOOL_CALL] = small_text("<|return|>");
    small.tokens[SMALL_UNUSED] = small_text("<|call|>");
    create();
    int32_t ids[16];
    assert_int_equal(gi_tokenizer_stop_ids(tokenizer, ids), 4);
    assert_false(gi_tokenizer_is_control(tokenizer, SMALL_TOOL));
    assert_true(gi_tokenizer_is_control(tokenizer, SMALL_TOOL_CALL));
}

TEST(bytes_of_tokens)
{
    create_small("smollm");
    expect_bytes(tokenizer, SMALL_SPACE_W, " w");
    expect_bytes(tokenizer, 0xff, "\xff");
    expect_bytes(tokenizer, SMALL_IM_END, "<|im_end|>");
    expect_bytes(tokenizer, SMALL_TOOL, "<tool>");
    expect_bytes(tokenizer, SMALL_BYTE, "\n");
    expect_bytes(tokenizer, SMALL_UNUSED, "");
    assert_null(gi_tokenizer_bytes(tokenizer, -1).data);
    assert_null(gi_tokenizer_bytes(tokenizer, SMALL_COUNT).data);
    assert_true(gi_tokenizer_is_control(tokenizer, SMALL_IM_START));
    assert_false(gi_tokenizer_is_control(tokenizer, SMALL_TOOL));
    assert_false(gi_tokenizer_is_control(tokenizer, 'a'));
    assert_false(gi_tokenizer_is_control(tokenizer, -1));
    assert_string_equal(gi_tokenizer_name(tokenizer), "gpt2/smollm");
    assert_int_equal(gi_tokenizer_size(tokenizer), SMALL_COUNT);
}

//-- hostile vocabularies ----------------------------------------------------------------------

static void check_refusal(const char *const fields[])
{
    struct glinfer_error err;
    change_vocab(make_vocab(), fields[0]);
    assert_null(gi_tokenizer_create(&small.vocab, &err));
    assert_int_equal(err.status, strcmp(fields[1], "unsupported") == 0 ? GLINFER_STATUS_UNSUPPORTED
                                                                       : GLINFER_STATUS_BAD_FILE);
    assert_says(err.message, fields[2]);
}

TEST(create_refuses_what_is_wrong)
{
    each_case("tokenizer.cases", "bpe refused", check_refusal);
}

TEST(create_takes_odd_vocabularies)
{
    small.tokens[SMALL_UNUSED] = (struct gi_text){NULL, 0};
    small.types[SMALL_UNUSED] = GI_TOKEN_TYPE_CONTROL;
    small.tokens[SMALL_TOOL] = small_text("hello");
    small.types[SMALL_UNKNOWN] = 77;
    small.tokens[SMALL_BYTE] = small_text("<0xZZ>");
    create();
    EXPECT_IDS("hello", PARSE_SPECIAL, SMALL_TOOL);
    expect_bytes(tokenizer, SMALL_UNUSED, "");
    small.vocab = (struct gi_vocab){.model = small_text("gpt2"),
                                    .tokens = small.tokens,
                                    .n_tokens = 1,
                                    .bos = GI_NO_TOKEN,
                                    .eos = GI_NO_TOKEN,
                                    .eot = GI_NO_TOKEN,
                                    .eom = GI_NO_TOKEN};
    create();
    expect_ids(tokenizer, (struct gi_text){"a\0b", 3}, 0, (const int32_t[]){0}, 1);
}

TEST(create_takes_a_long_token)
{
    size_t size = 1 << 20;
    char *text = malloc(size);
    memset(text, 'x', size);
    small.tokens[SMALL_TOOL] = (struct gi_text){text, size};
    create();
    expect_ids(tokenizer, (struct gi_text){text, size}, 0, (const int32_t[]){SMALL_TOOL}, 1);
    EXPECT_IDS("xx", 0, 'x', 'x');
    assert_int_equal(gi_tokenizer_bytes(tokenizer, SMALL_TOOL).size, size);
    free(text);
}

TEST(create_survives_failing_allocations)
{
    small.vocab.chat_template = small_text("'<|im_start|>system\\nHi<|im_end|>'");
    gi_tokenizer_destroy(create_in_the_end(&small.vocab));
}

TEST(encode_survives_failing_allocations)
{
    create_small("llama-bpe");
    struct gi_text text =
        small_text("hello w\xed\xa0\x80<|im_end|> lllllllllllllllllllllllllllllll");
    encode_in_the_end(tokenizer, text, PARSE_SPECIAL);
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
