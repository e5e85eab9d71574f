// The template language: what chat templates use of it, and that a hostile one ends in an error.
#include "jinja/jinja.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"
#include "tests/unit/failing_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct glinfer_message talk[] = {
    {"system", "be"}, {"user", " he<|x|> "}, {"assistant", "a</think>\n\nb"}, {"user", "ll"}};

static bool render(const char *template, struct gi_jinja_output *output, struct glinfer_error *err)
{
    const struct gi_jinja_input input = {.messages = talk,
                                         .n_messages = 4,
                                         .bos = "<s>",
                                         .bos_size = 3,
                                         .eos = "</s>",
                                         .eos_size = 4};
    struct gi_jinja *jinja = gi_jinja_create(template, strlen(template), err);
    const bool is_done = jinja && gi_jinja_render(jinja, &input, output, err);
    gi_jinja_destroy(jinja);
    return is_done;
}

static void expect(const char *template, const char *text)
{
    struct gi_jinja_output output = {0};
    struct glinfer_error err;
    if (!render(template, &output, &err)) {
        fail_msg("%s: %s", template, err.message);
    }
    if (output.size != strlen(text) ||
        (output.size > 0 && memcmp(output.data, text, output.size) != 0)) {
        fail_msg("%s writes '%.*s', expected '%s'", template, (int)output.size, output.data, text);
    }
    gi_jinja_output_finish(&output);
}

static void expect_error(const char *template, enum glinfer_status status, const char *word)
{
    struct gi_jinja_output output = {0};
    struct glinfer_error err = {0};
    if (render(template, &output, &err)) {
        fail_msg("%s writes '%.*s'", template, (int)output.size, output.data);
    }
    if (err.status != status || !strstr(err.message, word)) {
        fail_msg("%s: \"%s\", expected \"%s\"", template, err.message, word);
    }
}

static void check_text(const char *const fields[])
{
    expect(fields[0], fields[1]);
}

TEST(templates_write_their_texts)
{
    each_case("jinja.cases", "writes", check_text);
}

// A number as JSON has it, and as Python prints it.
static void check_number(const char *const fields[])
{
    char template[256], expected[256];
    snprintf(template, sizeof(template),
             "{{ '{\"-1\": [%s, {\"\\\\\\\\\": %s}]}' | from_json | tojson }}", fields[0],
             fields[0]);
    snprintf(expected, sizeof(expected), "{\"-1\": [%s, {\"\\\\\": %s}]}", fields[1], fields[1]);
    expect(template, expected);
}

TEST(numbers_of_json_are_written_as_in_python)
{
    each_case("jinja.cases", "numbers", check_number);
}

static void check_refusal(const char *const fields[])
{
    expect_error(fields[0], GLINFER_STATUS_UNSUPPORTED, fields[1]);
}

TEST(wrong_and_hostile_templates_are_refused)
{
    each_case("jinja.cases", "refuses", check_refusal);
}

// Only what is of a message's content is marked, however it was taken apart.
TEST(contents_are_marked)
{
    static const char template[] =
        "<|x|>{{ '<|x|>' + messages[1]['content'] | trim + messages[0].role }}"
        "{{ messages[2].content.split('</think>')[-1].lstrip('\\n') }}"
        "{{ messages[1].content | tojson }}";
    static const char expected[] = "<|x|><|x|>he<|x|>systemb\" he<|x|> \"";
    static const char marks[] = "000000000011111110000001011111111100";
    struct gi_jinja_output output = {0};
    must_do(render(template, &output, &err));
    assert_int_equal(output.size, strlen(expected));
    assert_memory_equal(output.data, expected, output.size);
    for (size_t i = 0; i < output.size; i++) {
        const bool is_quote = output.data[i] == '"';
        if (!is_quote && output.is_data[i] != (marks[i] == '1')) {
            fail_msg("byte %zu '%c' has the mark %d", i, output.data[i], output.is_data[i]);
        }
    }
    gi_jinja_output_finish(&output);
}

TEST(a_refusal_is_the_templates_own)
{
    expect_error("{{ raise_exception('no ' + messages[0].role) }}", GLINFER_STATUS_INVALID_ARGUMENT,
                 "no system");
}

TEST(deep_templates_are_refused)
{
    char deep[4096];
    memset(deep, '(', sizeof(deep));
    memcpy(deep, "{{", 2);
    deep[sizeof(deep) - 1] = 0;
    expect_error(deep, GLINFER_STATUS_UNSUPPORTED, "deeply");
    memset(deep, '-', sizeof(deep) - 1);
    memcpy(deep, "{{ 1", 4);
    expect_error(deep, GLINFER_STATUS_UNSUPPORTED, "expected");
}

TEST(every_failed_allocation_is_survived)
{
    static const char template[] =
        "{%- macro tag(name='x') %}<{{ name|upper }}>{% endmacro %}"
        "{%- set ns = namespace(n=0, found=[]) %}"
        "{%- for m in messages if m['content'] %}{% set ns.n = ns.n + 1 %}"
        "{{ tag(m.role) ~ m['content'].split('</think>')[-1].strip() + loop.index|string }}"
        "{%- if not loop.last %}{{ {'a': [1, 2, none]}|tojson }}{% endif %}{% endfor %}"
        "{{ ns.n }}{{ messages[::-1]|length }}{{ 'x%sy' }}{{ bos_token * 1 if false else 'end' }}";
    for (int is_one = 0; is_one < 2; is_one++) {
        long n_failed = 0;
        for (bool is_refused = true; is_refused; n_failed++) {
            struct gi_jinja_output output = {0};
            struct glinfer_error err = {0};
            (is_one ? fail_one_allocation : fail_allocations_after)(n_failed);
            const bool is_done = render(template, &output, &err);
            is_refused = count_allocations() > n_failed;
            fail_allocations_after(-1);
            if (is_done == is_refused || (!is_done && err.status != GLINFER_STATUS_NO_MEMORY)) {
                fail_msg("allocation %ld: %s", n_failed, err.message);
            }
            gi_jinja_output_finish(&output);
        }
        assert_in_range(n_failed, 5, 50); // text, tree, pools, output
    }
}

RUN_TESTS(NULL, NULL)
