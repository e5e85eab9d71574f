// Tests the text that each chat format writes.
#include "tests/unit/cmocka_test.h"
#include "tests/unit/tokenizer/small_vocab.h"

static const struct glinfer_message user[] = {{"user", "ll"}};

// BOS is <tool>, EOS is <|endoftext|>; a date is not compared.
static const struct {
    const char *name;
    const char *user;  // {"user", "ll"}
    const char *whole; // the conversation below
} formats[] = {
    {"qwen3", "<|im_start|>user\nll<|im_end|>\n<|im_start|>assistant\n",
     "<|im_start|>system\n he <|im_end|>\n<|im_start|>user\n a <|im_end|>\n<|im_start|>assistant\n"
     "b <|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n"},
    {"qwq", "<|im_start|>user\nll<|im_end|>\n<|im_start|>assistant\n<think>\n",
     "<|im_start|>system\n he <|im_end|>\n<|im_start|>user\n a <|im_end|>\n<|im_start|>assistant\n"
     "b <|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n<think>\n"},
    {"phi4", "<|im_start|>user<|im_sep|>ll<|im_end|><|im_start|>assistant<|im_sep|>",
     "<|im_start|>system<|im_sep|> he <|im_end|><|im_start|>user<|im_sep|> a <|im_end|>"
     "<|im_start|>assistant<|im_sep|>w</think>\nb <|im_end|><|im_start|>user<|im_sep|>c<|im_end|>"
     "<|im_start|>assistant<|im_sep|>"},
    {"chatml-bos", "<tool><|im_start|>user\nll<|im_end|>\n<|im_start|>assistant\n",
     "<tool><|im_start|>system\n he <|im_end|>\n<|im_start|>user\n a <|im_end|>\n"
     "<|im_start|>assistant\nw</think>\nb <|im_end|>\n<|im_start|>user\nc<|im_end|>\n"
     "<|im_start|>assistant\n"},
    {"llama3",
     "<tool><|start_header_id|>user<|end_header_id|>\n\nll<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     "<tool><|start_header_id|>system<|end_header_id|>\n\nhe<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\na<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nw</think>\nb<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nc<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {"gemma3", "<tool><start_of_turn>user\nll<end_of_turn>\n<start_of_turn>model\n",
     "<tool><start_of_turn>user\n he \n\na<end_of_turn>\n<start_of_turn>model\nw</think>\nb"
     "<end_of_turn>\n<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n"},
    {"gemma", "<tool><start_of_turn>user\nll<end_of_turn>\n<start_of_turn>model\n",
     "<tool><start_of_turn>user\nhe \n a<end_of_turn>\n<start_of_turn>model\nw</think>\nb"
     "<end_of_turn>\n<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n"},
    {"phi3", "<|user|>\nll<|end|>\n<|assistant|>\n",
     "<|system|>\n he <|end|>\n<|user|>\n a <|end|>\n<|assistant|>\nw</think>\nb <|end|>\n"
     "<|user|>\nc<|end|>\n<|assistant|>\n"},
    {"phi3-first", "<tool><|user|>\nll<|end|>\n<|assistant|>\n",
     "<tool><|user|>\n he \n a <|end|>\n<|assistant|>\nw</think>\nb <|end|>\n"
     "<|user|>\nc<|end|>\n<|assistant|>\n"},
    {"zephyr", "<|user|>\nll<|endoftext|>\n<|assistant|>\n",
     "<|system|>\n he <|endoftext|>\n<|user|>\n a <|endoftext|>\n<|assistant|>\nw</think>\nb "
     "<|endoftext|>\n<|user|>\nc<|endoftext|>\n<|assistant|>\n"},
    {"llama2", "<tool>[INST] ll [/INST]",
     "<tool>[INST] <<SYS>>\n he \n<</SYS>>\n\n a [/INST] w</think>\nb <|endoftext|>"
     "<tool>[INST] c [/INST]"},
    {"mistral-v7", "<tool>[INST] ll[/INST]",
     "<tool>[SYSTEM_PROMPT]  he [/SYSTEM_PROMPT][INST]  a [/INST] w</think>\nb <|endoftext|>"
     "[INST] c[/INST]"},
    {"mistral-v7-tekken", "<tool>[INST]ll[/INST]",
     "<tool>[SYSTEM_PROMPT] he [/SYSTEM_PROMPT][INST] a [/INST]w</think>\nb <|endoftext|>"
     "[INST]c[/INST]"},
    {"mistral-v3-tekken", "<tool>[INST]ll[/INST]",
     "<tool>[INST] a [/INST]w</think>\nb <|endoftext|>[INST] he \n\nc[/INST]"},
    {"mistral-v3", "<tool>[INST] ll[/INST]",
     "<tool>[INST]  a [/INST] w</think>\nb<|endoftext|>[INST]  he \n\nc[/INST]"},
    {"mistral-v1", "<tool> [INST] ll [/INST]",
     "<tool> [INST]  he \n\n a  [/INST] w</think>\nb <|endoftext|> [INST] c [/INST]"},
    {"mistral-first", "<tool>[INST] ll [/INST]",
     "<tool>[INST]  he \n a  [/INST]w</think>\nb <|endoftext|>[INST] c [/INST]"},
    {"granite",
     "<|start_of_role|>user<|end_of_role|>ll<|end_of_text|>\n"
     "<|start_of_role|>assistant<|end_of_role|>",
     "<|start_of_role|>system<|end_of_role|> he <|end_of_text|>\n"
     "<|start_of_role|>user<|end_of_role|> a <|end_of_text|>\n"
     "<|start_of_role|>assistant<|end_of_role|>w</think>\nb <|end_of_text|>\n"
     "<|start_of_role|>user<|end_of_role|>c<|end_of_text|>\n"
     "<|start_of_role|>assistant<|end_of_role|>"},
    {"deepseek-r1", "<tool><｜User｜>ll<｜Assistant｜><think>\n",
     "<tool> he <｜User｜> a <｜Assistant｜>\nb <｜end▁of▁sentence｜><｜User｜>c"
     "<｜Assistant｜><think>\n"},
    {"deepseek-r1-first", "<tool><｜User｜>ll<｜Assistant｜>",
     "<tool> he <｜User｜> a <｜Assistant｜>\nb <｜end▁of▁sentence｜><｜User｜>c<｜Assistant｜>"},
    {"deepseek3", "<tool><｜User｜>ll<｜Assistant｜>",
     "<tool> he <｜User｜> a <｜Assistant｜>w</think>\nb <｜end▁of▁sentence｜><｜User｜>c"
     "<｜Assistant｜>"},
    {"deepseek2", "<tool>User: ll\n\nAssistant:",
     "<tool> he \n\nUser:  a \n\nAssistant: w</think>\nb <|endoftext|>User: c\n\nAssistant:"},
};

static const struct glinfer_message whole_chat[] = {
    {"system", " he "}, {"user", " a "}, {"assistant", "w</think>\nb "}, {"user", "c"}};

static void expect_named(const char *name, const struct glinfer_message *messages,
                         size_t n_messages, const char *text)
{
    struct small_vocab small;
    struct gi_ids ids = {0}, expected = {0};
    struct glinfer_error err;
    small_vocab_init(&small);
    small.vocab.bos = SMALL_TOOL;
    struct gi_tokenizer *tokenizer = gi_tokenizer_create(&small.vocab, &err);
    assert_non_null(tokenizer);
    assert_true(gi_tokenizer_set_template(tokenizer, name, &err));
    assert_string_equal(gi_tokenizer_template_name(tokenizer), name);
    assert_true(gi_tokenizer_encode_chat(tokenizer, messages, n_messages, GLINFER_CHAT_END_ANSWER,
                                         &ids, &err));
    assert_true(gi_tokenizer_encode(tokenizer, small_text(text), false, true, &expected, &err));
    if (ids.count != expected.count ||
        memcmp(ids.data, expected.data, ids.count * sizeof(*ids.data)) != 0) {
        fail_msg("%s does not write '%s'", name, text);
    }
    gi_ids_finish(&ids);
    gi_ids_finish(&expected);
    gi_tokenizer_destroy(tokenizer);
}

TEST(formats_write_their_turns)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        expect_named(formats[i].name, user, 1, formats[i].user);
        expect_named(formats[i].name, whole_chat, 4, formats[i].whole);
    }
}

TEST(blank_contents_are_trimmed_with_what_is_around_them)
{
    static const struct glinfer_message blank[] = {{"system", " \n"}, {"user", "\t"}};
    expect_named("gemma", blank, 2,
                 "<tool><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n");
    expect_named("llama2", blank, 2, "<tool>[INST] <<SYS>>\n \n\n<</SYS>> [/INST]");
}

TEST(the_first_bos_is_written_once)
{
    struct small_vocab small;
    struct glinfer_error err;
    small_vocab_init(&small);
    small_vocab_set_bos(&small);
    struct gi_tokenizer *tokenizer = gi_tokenizer_create(&small.vocab, &err);
    assert_non_null(tokenizer);
    assert_true(gi_tokenizer_set_template(tokenizer, "llama2", &err));
    assert_true(small_vocab_begins_once(tokenizer, user));
    gi_tokenizer_destroy(tokenizer);
}

RUN_TESTS(NULL, NULL)
