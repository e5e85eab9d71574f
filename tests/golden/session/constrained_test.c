// Answers that keep to a grammar: what a model says of its own accord does not matter.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <cjson/cJSON.h>
#include <string.h>

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"kind\":{\"enum\":[\"cat\",\"dog\"]},"
    "\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":99},"
    "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"maxItems\":4}},"
    "\"required\":[\"kind\",\"age\",\"tags\"]}";

static struct glinfer_grammar grammar_of(const char *gbnf, const char *json_schema)
{
    struct glinfer_grammar grammar;
    glinfer_grammar_init(&grammar);
    grammar.gbnf = gbnf;
    grammar.json_schema = json_schema;
    return grammar;
}

// A sampled answer that may end.
static struct glinfer_generate_params bound(const struct glinfer_grammar *grammar, uint64_t seed,
                                            struct answer *answer)
{
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 200, answer);
    *answer = (struct answer){0};
    params.ignore_eos = false;
    params.temperature = 1.0F;
    params.seed = seed;
    params.grammar = grammar;
    return params;
}

static bool has_form(const cJSON *json)
{
    const cJSON *kind = cJSON_GetObjectItem(json, "kind"), *age = cJSON_GetObjectItem(json, "age"),
                *tags = cJSON_GetObjectItem(json, "tags"), *tag;
    bool is_right = cJSON_IsString(kind) && cJSON_IsNumber(age) && cJSON_IsArray(tags) &&
                    cJSON_GetArraySize(tags) <= 4 && age->valueint >= 0 && age->valueint <= 99;
    cJSON_ArrayForEach(tag, tags)
    {
        is_right = is_right && cJSON_IsBool(tag);
    }
    return is_right;
}

TEST(answers_fit_the_schema)
{
    const struct glinfer_grammar grammar = grammar_of(NULL, schema);
    SESSION *session = open_session(*state, 8, 256, 16);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct answer answer;
        const struct glinfer_generate_params params = bound(&grammar, seed, &answer);
        glinfer_session_reset(session);
        const struct glinfer_stats stats = must_generate(session, &params);
        assert_int_equal(stats.stop, GLINFER_STOP_EOS);
        answer.text[answer.text_size] = '\0';
        cJSON *json = cJSON_Parse(answer.text);
        if (!json || !has_form(json)) {
            fail_msg("seed %d: %s", (int)seed, answer.text);
        }
        cJSON_Delete(json);
    }
}

// The GPU's mask leaves what the host's does: with xtc, which never happens, the host chooses.
TEST(gpu_and_host_keep_to_it_alike)
{
    const struct glinfer_grammar grammar = grammar_of(NULL, schema);
    SESSION *session = open_session(*state, 8, 256, 16);
    struct glinfer_samplers samplers;
    const struct glinfer_logit_bias bias = {65, 0.5F};
    glinfer_samplers_init(&samplers);
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct answer answers[2];
        for (int is_host = 0; is_host < 2; is_host++) {
            struct glinfer_generate_params params = bound(&grammar, seed, &answers[is_host]);
            params.top_k = seed % 2 ? 40 : 0;
            params.temperature = seed % 4 == 3 ? 0 : 1.0F;
            params.samplers = &samplers;
            samplers.xtc_probability = is_host ? 1e-30F : 0;
            samplers.frequency_penalty = seed > 3 ? 0.3F : 0;
            samplers.logit_bias = &bias;
            samplers.n_logit_bias = seed == 6;
            glinfer_session_reset(session);
            must_generate(session, &params);
        }
        assert_same(&answers[0], &answers[1]);
    }
}

TEST(greedy_answers_keep_to_it_too)
{
    const struct glinfer_grammar grammar = grammar_of("root ::= (\"yes\" | \"no\") \".\"", NULL);
    SESSION *session = open_session(*state, 8, 256, 16);
    struct answer answer;
    struct glinfer_generate_params params = bound(&grammar, 1, &answer);
    params.temperature = 0;
    must_generate(session, &params);
    const bool is_yes = answer.text_size == 4 && memcmp(answer.text, "yes.", 4) == 0;
    assert_true(is_yes || (answer.text_size == 3 && memcmp(answer.text, "no.", 3) == 0));
    // The same session answers freely afterwards, and to another grammar.
    struct answer freely;
    params = bound(NULL, 1, &freely);
    params.n_predict = 12;
    must_generate(session, &params);
    assert_true(freely.n > 0);
    const struct glinfer_grammar digits = grammar_of("root ::= [0-9]{5}", NULL);
    params = bound(&digits, 1, &answer);
    must_generate(session, &params);
    assert_int_equal(answer.text_size, 5);
}

TEST(a_lazy_grammar_waits_for_its_token)
{
    static const int32_t tokens[] = {34}; // a space
    struct glinfer_grammar grammar = grammar_of("root ::= <[34]> \"12345\"", NULL);
    SESSION *session = open_session(*state, 8, 256, 16);
    bool has_come = false;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct answer answer;
        grammar.trigger_tokens = tokens;
        grammar.n_trigger_tokens = 1;
        const struct glinfer_generate_params params = bound(&grammar, seed, &answer);
        glinfer_session_reset(session);
        const struct glinfer_stats stats = must_generate(session, &params);
        int i = 0;
        while (i < answer.n && answer.ids[i] != tokens[0]) {
            i++;
        }
        if (i < answer.n && stats.stop == GLINFER_STOP_EOS) {
            has_come = true;
            assert_true(answer.text_size >= 6);
            assert_memory_equal(answer.text + answer.text_size - 6, " 12345", 6);
        }
    }
    assert_true(has_come);
}

// A cancelled answer goes on where it was, and steps give what a blocking call does.
TEST(it_goes_on_and_comes_in_steps)
{
    const struct glinfer_grammar grammar = grammar_of(NULL, schema);
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 8, 256, 16);
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct answer whole, answer;
    struct glinfer_generate_params params = bound(&grammar, 5, &whole);
    must_generate(session, &params);
    glinfer_session_reset(session);
    params = bound(&grammar, 5, &answer);
    answer.cancel = session;
    must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
    assert_true(answer.n < whole.n);
    params.resume = true;
    answer.cancel = NULL;
    must_generate(session, &params);
    assert_same(&answer, &whole);

    glinfer_session_reset(session);
    params = bound(&grammar, 5, &answer);
    must_do(glinfer_begin(session, &params, &err));
    while (event.kind != GLINFER_EVENT_END) {
        must_do(glinfer_step(f->device, 1000, &event, &err));
    }
    assert_same(&answer, &whole);
}

// An answer that was free, or kept to another grammar, goes on with one from its beginning.
TEST(another_grammar_begins_anew)
{
    const struct glinfer_grammar digits = grammar_of("root ::= [0-9]{5}", NULL);
    const struct glinfer_grammar word = grammar_of("root ::= \"end\"", NULL);
    SESSION *session = open_session(*state, 8, 256, 16);
    struct glinfer_samplers samplers;
    struct answer answer;
    glinfer_samplers_init(&samplers);
    samplers.repeat_penalty = 1.1F;
    struct glinfer_generate_params params = bound(&digits, 1, &answer);
    must_generate(session, &params);
    for (int i = 0; i < 2; i++) {
        glinfer_session_reset(session);
        params = bound(i == 0 ? NULL : &digits, 1, &answer);
        params.samplers = &samplers;
        params.ignore_eos = i == 0;
        answer.cancel = session;
        must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
        answer.cancel = NULL;
        answer.text_size = 0;
        params.resume = true;
        params.ignore_eos = false;
        params.grammar = &word;
        must_generate(session, &params);
        assert_true(answer.text_size >= 3);
        assert_memory_equal(answer.text + answer.text_size - 3, "end", 3);
    }
}

TEST(what_is_no_grammar_is_refused)
{
    static const struct {
        const char *gbnf, *schema, *words;
        enum glinfer_status status;
    } cases[] = {
        {NULL, NULL, "neither", GLINFER_STATUS_INVALID_ARGUMENT},
        {"root ::= \"a\"", "{}", "both", GLINFER_STATUS_INVALID_ARGUMENT},
        {"root ::= \"a", NULL, "line 1", GLINFER_STATUS_INVALID_ARGUMENT},
        {"leaf ::= \"a\"", NULL, "root", GLINFER_STATUS_INVALID_ARGUMENT},
        {NULL, "{\"type\":", "JSON", GLINFER_STATUS_INVALID_ARGUMENT},
        {NULL, "{\"not\":{}}", "/not: every", GLINFER_STATUS_UNSUPPORTED},
        {NULL, "{\"$ref\":\"#\"}", "refers to itself", GLINFER_STATUS_UNSUPPORTED},
        {NULL, "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"],\"type\":\"object\"}",
         "without end", GLINFER_STATUS_UNSUPPORTED},
    };
    SESSION *session = open_session(*state, 8, 256, 16);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct glinfer_grammar grammar = grammar_of(cases[i].gbnf, cases[i].schema);
        struct glinfer_error err = {0};
        struct answer answer;
        const struct glinfer_generate_params params = bound(&grammar, 1, &answer);
        assert_false(glinfer_generate(session, &params, NULL, &err));
        print_message("%s\n", err.message);
        assert_int_equal(err.status, cases[i].status);
        assert_non_null(strstr(err.message, cases[i].words));
    }
    const struct glinfer_grammar grammar = grammar_of(NULL, "{}");
    struct glinfer_error err = {0};
    struct answer answer;
    struct glinfer_generate_params params = bound(&grammar, 1, &answer);
    params.ignore_eos = true;
    assert_fails(glinfer_generate(session, &params, NULL, &err), err, INVALID_ARGUMENT, "");
}

RUN_TESTS(open_tiny_model, close_tiny_model)
