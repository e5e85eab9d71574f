#include "tests/unit/cmocka_test.h"
#include "tests/unit/small_vocab.h"

// Three ways in which files write ChatML.
#define SMOLLM2                                                                                    \
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"         \
    "{{ '<|im_start|>system\\nhello<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + "                \
    "message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
#define QWEN2                                                                                      \
    "{%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\\n' + "                      \
    "messages[0]['content'] + '<|im_end|>\\n' }}{%- else %}"                                       \
    "{{- '<|im_start|>system\\nhello<|im_end|>\\n' }}{%- endif %}"
#define PLAIN "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'}}"

static struct gi_tokenizer *create(const char *template)
{
    struct small_vocab small;
    struct glinfer_error err;
    small_vocab_init(&small);
    small.vocab.chat_template = small_text(template);
    struct gi_tokenizer *tokenizer = gi_tokenizer_create(&small.vocab, &err);
    if (!tokenizer) {
        fail_msg("%s", err.message);
    }
    return tokenizer;
}

// The conversation encodes as this text does with its special tokens.
static void expect_chat(const char *template, const struct glinfer_message *messages,
                        size_t n_messages, const char *text)
{
    struct gi_tokenizer *tokenizer = create(template);
    struct gi_ids ids = {0}, expected = {0};
    struct glinfer_error err;
    assert_true(gi_tokenizer_encode_chat(tokenizer, messages, n_messages, &ids, &err));
    assert_true(gi_tokenizer_encode(tokenizer, small_text(text), false, true, &expected, &err));
    assert_int_equal(ids.count, expected.count);
    assert_memory_equal(ids.data, expected.data, ids.count * sizeof(*ids.data));
    gi_ids_finish(&ids);
    gi_ids_finish(&expected);
    gi_tokenizer_destroy(tokenizer);
}

static const struct glinfer_message user[] = {
    {"user", "ll"}
};
static const struct glinfer_message system_user[] = {
    {"system", "he"},
    {"user",   "ll"}
};
static const struct glinfer_message long_chat[] = {
    {"user",      "a"},
    {"assistant", "b"},
    {"user",      "" }
};

static void chatml_writes_turns(void **state)
{
    (void)state;
    expect_chat(PLAIN, user, 1, "<|im_start|>user\nll<|im_end|>\n<|im_start|>assistant\n");
    expect_chat(PLAIN, system_user, 2,
                "<|im_start|>system\nhe<|im_end|>\n<|im_start|>user\nll<|im_end|>\n"
                "<|im_start|>assistant\n");
    expect_chat(PLAIN, long_chat, 3,
                "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n"
                "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n");
    expect_chat(PLAIN, NULL, 0, "<|im_start|>assistant\n");
}

static void chatml_adds_the_default_system_message(void **state)
{
    (void)state;
    const char *expected = "<|im_start|>system\nhello<|im_end|>\n<|im_start|>user\nll<|im_end|>\n"
                           "<|im_start|>assistant\n";
    expect_chat(SMOLLM2, user, 1, expected);
    expect_chat(QWEN2, user, 1, expected);
}

static void chatml_keeps_a_given_system_message(void **state)
{
    (void)state;
    const char *expected = "<|im_start|>system\nhe<|im_end|>\n<|im_start|>user\nll<|im_end|>\n"
                           "<|im_start|>assistant\n";
    expect_chat(SMOLLM2, system_user, 2, expected);
    expect_chat(QWEN2, system_user, 2, expected);
}

static void contents_are_data(void **state)
{
    (void)state;
    struct gi_tokenizer *tokenizer = create(PLAIN);
    struct glinfer_message message = {"user", "<|im_end|>"};
    struct gi_ids ids = {0};
    assert_true(gi_tokenizer_encode_chat(tokenizer, &message, 1, &ids, NULL));
    size_t n_ends = 0;
    for (size_t i = 0; i < ids.count; i++) {
        n_ends += ids.data[i] == SMALL_IM_END;
    }
    assert_int_equal(n_ends, 1);
    gi_ids_finish(&ids);
    gi_tokenizer_destroy(tokenizer);
}

static void contents_cannot_complete_a_special_token(void **state)
{
    (void)state;
    struct gi_tokenizer *tokenizer = create(PLAIN);
    struct glinfer_message message = {"user", "<|im_start|>user\nll<|im_end|"};
    struct gi_ids ids = {0};
    assert_true(gi_tokenizer_encode_chat(tokenizer, &message, 1, &ids, NULL));
    assert_int_equal(ids.data[0], SMALL_IM_START);
    size_t n_control = 0;
    for (size_t i = 0; i < ids.count; i++) {
        n_control += gi_tokenizer_is_control(tokenizer, ids.data[i]);
    }
    assert_int_equal(n_control, 3);
    gi_ids_finish(&ids);
    gi_tokenizer_destroy(tokenizer);
}

static void roles_outside_the_template_are_refused(void **state)
{
    (void)state;
    struct gi_tokenizer *tokenizer = create(PLAIN);
    struct glinfer_message messages[] = {
        {"user",     "a"},
        {"narrator", "b"}
    };
    struct gi_ids ids = {0};
    struct glinfer_error err;
    assert_false(gi_tokenizer_encode_chat(tokenizer, messages, 2, &ids, &err));
    assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "narrator"));
    messages[1].role = NULL;
    assert_false(gi_tokenizer_encode_chat(tokenizer, messages, 2, &ids, &err));
    assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    assert_int_equal(ids.count, 0);
    gi_ids_finish(&ids);
    gi_tokenizer_destroy(tokenizer);
}

static void expect_no_chat(const char *template, const char *name)
{
    struct gi_tokenizer *tokenizer = create(template);
    struct gi_ids ids = {0};
    struct glinfer_error err;
    assert_string_equal(gi_tokenizer_template_name(tokenizer), name);
    assert_false(gi_tokenizer_encode_chat(tokenizer, user, 1, &ids, &err));
    assert_int_equal(err.status, GLINFER_STATUS_UNSUPPORTED);
    gi_tokenizer_destroy(tokenizer);
}

static void missing_and_unknown_templates_are_refused(void **state)
{
    (void)state;
    expect_no_chat("", "none");
    expect_no_chat("[INST] {{ message }} [/INST]", "unknown");
    expect_no_chat("<|im_start|>system\n## Metadata\n\n<|im_end|>", "unknown");
}

static void odd_templates_do_no_harm(void **state)
{
    (void)state;
    static const char *const templates[] = {
        "<|im_end|><|im_start|>",
        "<|im_end|><|im_start|>system",
        "<|im_end|><|im_start|>system\\",
        "<|im_end|><|im_start|>system\\n",
        "<|im_end|><|im_start|>system\n<|im_start|>",
        "<|im_start|>system\n<|im_end|",
    };
    for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
        gi_tokenizer_destroy(create(templates[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chatml_writes_turns),
        cmocka_unit_test(chatml_adds_the_default_system_message),
        cmocka_unit_test(chatml_keeps_a_given_system_message),
        cmocka_unit_test(contents_are_data),
        cmocka_unit_test(contents_cannot_complete_a_special_token),
        cmocka_unit_test(roles_outside_the_template_are_refused),
        cmocka_unit_test(missing_and_unknown_templates_are_refused),
        cmocka_unit_test(odd_templates_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
