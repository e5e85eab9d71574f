// Every function of glinfer.h refuses what it cannot take, by INVALID_ARGUMENT with a sentence, or
// by doing nothing where it cannot fail. Runs on a tiny model; exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdio.h>

struct fixture {
    struct tiny_model tiny;
    struct glinfer_session *session;
    const struct glinfer_tokenizer *tokenizer;
};

struct row {
    const char *function, *words; // in the error's message; NULL: the function has no way to fail
    // Returns true if the call said that it failed, or did nothing where it cannot fail.
    bool (*is_right)(struct fixture *f, struct glinfer_error *err);
};

static struct row rows[200];
static int n_rows;

// Settings with one field that is wrong, filled by their _init function.
#define WITH(type, params, wrong)                                                                  \
    struct type params;                                                                            \
    type##_init(&params);                                                                          \
    wrong

#define JOIN(a, b)     a##b
#define NAME(part, at) JOIN(part, at)

// Adds a call of a function that has no way to fail; the body returns true if nothing came of it.
#define IGNORED(called, ...) ROW(NULL, called, __VA_ARGS__)
// Adds a call that fails and says `words`.
#define REFUSED(words, called, args) ROW(words, called, return !called args)
// Adds the same after statements that make an argument.
#define REFUSED_WITH(words, called, args, ...) ROW(words, called, __VA_ARGS__; return !called args)
#define ROW(words, called, ...)                                                                    \
    static bool NAME(row, __LINE__)(struct fixture * f, struct glinfer_error * err)                \
    {                                                                                              \
        (void)f, (void)err;                                                                        \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    static void __attribute__((constructor)) NAME(add, __LINE__)(void)                             \
    {                                                                                              \
        rows[n_rows++] = (struct row){#called, words, NAME(row, __LINE__)};                        \
    }

// Results of calls that fail.
static size_t n;
static float result[4];
static struct glinfer_prob top[4];
static struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
static struct glinfer_model_info model_info = {.struct_size = sizeof(model_info)};
static struct glinfer_event event = {.struct_size = sizeof(event)};
static struct glinfer_session *sessions[17];

// Parameters with fields that are wrong.
#define GIVE(type, ...) &(struct glinfer_##type##_params)PARAMS(type, __VA_ARGS__)

static void ignore_tested(void *user, const struct glinfer_tested *tested)
{
    (void)user, (void)tested;
}

//-- device ----------------------------------------------------------------------------------------

REFUSED_WITH("struct_size", glinfer_device_create, (&params, err),
             WITH(glinfer_device_params, params, params.struct_size = 12))
REFUSED("struct_size", glinfer_device_create, (&(struct glinfer_device_params){0}, err))
REFUSED("device is NULL", glinfer_device_measure, (NULL, &rates, err))
REFUSED("device is NULL", glinfer_device_recover, (NULL, NULL, NULL, err))
REFUSED("rates is NULL", glinfer_device_measure, (f->tiny.device, NULL, err))
REFUSED("struct_size", glinfer_device_measure,
        (f->tiny.device, &(struct glinfer_device_rates){0}, err))
REFUSED("device is NULL", glinfer_device_set_host, (NULL, NULL, err))
REFUSED("host is NULL", glinfer_device_set_host, (f->tiny.device, NULL, err))
REFUSED("device is NULL", glinfer_device_reset_tuning, (NULL, err))

IGNORED(glinfer_device_list, WITH(glinfer_device_params, params, params.struct_size = 9);
        return glinfer_device_list(&params, NULL, NULL) == 0)
IGNORED(glinfer_driver_cache_check, glinfer_driver_cache_check(NULL);
        return true) // there may be no room
IGNORED(glinfer_device_describe, struct glinfer_device_info info = {.struct_size = sizeof(info)};
        glinfer_device_describe(NULL, &info); return info.device[0] == 0)
IGNORED(glinfer_device_describe, glinfer_device_describe(f->tiny.device, NULL); return true)
IGNORED(glinfer_device_destroy, glinfer_device_destroy(NULL); struct glinfer_device *none = NULL;
        glinfer_device_destroy(&none); return !none)
IGNORED(glinfer_device_tuning, return glinfer_device_tuning(NULL, NULL, NULL) == 0)

//-- model -----------------------------------------------------------------------------------------

REFUSED_WITH("path is NULL", glinfer_model_inspect, (&params, &model_info, err),
             WITH(glinfer_model_params, params, ))
REFUSED("path is NULL", glinfer_model_inspect, (NULL, &model_info, err))
REFUSED("info is NULL", glinfer_model_inspect, (GIVE(model, .path = "a model"), NULL, err))
REFUSED("type_k is 26", glinfer_model_inspect,
        (GIVE(model, .path = "a model", .type_k = (enum glinfer_cache_type)26), &model_info, err))
REFUSED("path is NULL", glinfer_model_convert, (GIVE(model, .path = "a folder"), NULL, err))
REFUSED("path is NULL", glinfer_model_convert, (NULL, "a file", err))
REFUSED("not a folder", glinfer_model_convert, (GIVE(model, .path = "a model"), "a file", err))
REFUSED("device is NULL", glinfer_model_load, (NULL, GIVE(model, .path = "a model"), err))
REFUSED_WITH(": path is NULL", glinfer_model_load, (f->tiny.device, &params, err),
             WITH(glinfer_model_params, params, ))
REFUSED("path is NULL", glinfer_model_load, (f->tiny.device, NULL, err))
REFUSED_WITH("struct_size", glinfer_model_load, (f->tiny.device, &params, err),
             WITH(glinfer_model_params, params, params.path = "a model");
             params.struct_size = offsetof(struct glinfer_model_params, path) + 4)
REFUSED("type_v is ", glinfer_model_load,
        (f->tiny.device, GIVE(model, .path = "a model", .type_v = (enum glinfer_cache_type) - 1),
         err))

IGNORED(glinfer_model_describe, struct glinfer_model_info info = {.struct_size = sizeof(info)};
        glinfer_model_describe(NULL, &info); return info.n_layer == 0)
IGNORED(glinfer_model_describe, glinfer_model_describe(f->tiny.model, NULL); return true)
IGNORED(glinfer_model_tokenizer, return !glinfer_model_tokenizer(NULL))
IGNORED(glinfer_model_destroy, glinfer_model_destroy(NULL); struct glinfer_model *none = NULL;
        glinfer_model_destroy(&none); return !none)

//-- tokenizer -------------------------------------------------------------------------------------

REFUSED("path is NULL", glinfer_tokenizer_load, (NULL, err))
REFUSED("source is NULL", glinfer_tokenizer_load_source, (NULL, err))
REFUSED("tokenizer is NULL", glinfer_tokenize, (NULL, "a", 1, 0, NULL, 0, &n, err))
REFUSED("text is NULL", glinfer_tokenize, (f->tokenizer, NULL, 1, 0, NULL, 0, &n, err))
REFUSED("text is NULL", glinfer_tokenize_pair, (f->tokenizer, "", 0, NULL, 1, 0, 0, 0, err))
REFUSED("ids is NULL", glinfer_tokenize, (f->tokenizer, "a", 1, 0, NULL, 4, &n, err))
REFUSED("n is NULL", glinfer_tokenize, (f->tokenizer, "a", 1, 0, NULL, 0, NULL, err))
REFUSED("flags is 64", glinfer_tokenize, (f->tokenizer, "a", 1, 64, NULL, 0, &n, err))
static const struct glinfer_message question = {"user", "a"}, no_role = {NULL, "a"},
                                    no_content = {"user", NULL};
REFUSED("tokenizer is NULL", glinfer_chat_tokenize, (NULL, &question, 1, NULL, 0, &n, err))
REFUSED("messages is NULL", glinfer_chat_tokenize, (f->tokenizer, NULL, 1, NULL, 0, &n, err))
REFUSED("role is NULL", glinfer_chat_tokenize, (f->tokenizer, &no_role, 1, NULL, 0, &n, err))
REFUSED("content is NULL", glinfer_chat_tokenize, (f->tokenizer, &no_content, 1, NULL, 0, &n, err))
REFUSED("ids is NULL", glinfer_chat_tokenize, (f->tokenizer, &question, 1, NULL, 4, &n, err))
REFUSED("n is NULL", glinfer_chat_tokenize, (f->tokenizer, &question, 1, NULL, 0, NULL, err))
static const struct glinfer_chat_json chat_json = {.struct_size = sizeof(chat_json),
                                                   .messages = "[]"},
                                      ended_json = {.struct_size = sizeof(ended_json),
                                                    .messages = "[]",
                                                    .end = (enum glinfer_chat_end)3},
                                      no_json = {.struct_size = sizeof(no_json)},
                                      cut_json = {.struct_size = 9, .messages = "[]"};
REFUSED("tokenizer is NULL", glinfer_chat_tokenize_json, (NULL, &chat_json, NULL, 0, &n, err))
REFUSED("chat is NULL", glinfer_chat_tokenize_json, (f->tokenizer, NULL, NULL, 0, &n, err))
REFUSED("struct_size", glinfer_chat_tokenize_json, (f->tokenizer, &cut_json, NULL, 0, &n, err))
REFUSED("messages is NULL", glinfer_chat_tokenize_json, (f->tokenizer, &no_json, NULL, 0, &n, err))
REFUSED("ids is NULL", glinfer_chat_tokenize_json, (f->tokenizer, &chat_json, NULL, 4, &n, err))
REFUSED("end", glinfer_chat_tokenize_json, (f->tokenizer, &ended_json, NULL, 0, &n, err))
REFUSED("n is NULL", glinfer_chat_tokenize_json, (f->tokenizer, &chat_json, NULL, 0, NULL, err))

REFUSED("tokenizer is NULL", glinfer_chat_write_json, (NULL, &chat_json, NULL, 0, &n, err))
REFUSED("chat is NULL", glinfer_chat_write_json, (f->tokenizer, NULL, NULL, 0, &n, err))
REFUSED("struct_size", glinfer_chat_write_json, (f->tokenizer, &cut_json, NULL, 0, &n, err))
REFUSED("messages is NULL", glinfer_chat_write_json, (f->tokenizer, &no_json, NULL, 0, &n, err))
REFUSED("text is NULL", glinfer_chat_write_json, (f->tokenizer, &chat_json, NULL, 4, &n, err))
REFUSED("size is NULL", glinfer_chat_write_json, (f->tokenizer, &chat_json, NULL, 0, NULL, err))
REFUSED("grammar is NULL", glinfer_grammar_check, (NULL, err))
REFUSED_WITH("neither was", glinfer_grammar_check, (&grammar, err),
             WITH(glinfer_grammar, grammar, ))
REFUSED("struct_size", glinfer_grammar_check, (&(struct glinfer_grammar){0}, err))
REFUSED_WITH("line 1", glinfer_grammar_check, (&grammar, err),
             WITH(glinfer_grammar, grammar, grammar.gbnf = "root ::= \"a"))

IGNORED(glinfer_chat_template_at, return !glinfer_chat_template_at(1000000))
IGNORED(glinfer_token_bytes, return !glinfer_token_bytes(NULL, 1, &n))
IGNORED(glinfer_token_bytes, return !glinfer_token_bytes(f->tokenizer, 1, NULL))
IGNORED(glinfer_token_bytes, return !glinfer_token_bytes(f->tokenizer, -1, &n))
IGNORED(glinfer_chat_available, return !glinfer_chat_available(NULL))
IGNORED(glinfer_token_ends, return glinfer_token_ends(NULL, NULL, 0) == 0)
IGNORED(glinfer_token_ends, return glinfer_token_ends(f->tokenizer, NULL, 9) > 0)
IGNORED(glinfer_chat_template_text, return !glinfer_chat_template_text(NULL))
IGNORED(glinfer_tokenizer_destroy, glinfer_tokenizer_destroy(NULL);
        struct glinfer_tokenizer *none = NULL; glinfer_tokenizer_destroy(&none); return !none)

//-- session ---------------------------------------------------------------------------------------

REFUSED("model is NULL", glinfer_session_create, (NULL, NULL, err))
REFUSED_WITH("struct_size", glinfer_session_create, (f->tiny.model, &params, err),
             WITH(glinfer_session_params, params, params.struct_size--))
REFUSED(": type_k is 53", glinfer_session_create,
        (f->tiny.model, GIVE(session, .type_k = (enum glinfer_cache_type)53), err))
REFUSED("type_v is ", glinfer_session_create,
        (f->tiny.model, GIVE(session, .type_v = (enum glinfer_cache_type) - 1), err))
REFUSED("precision is 3", glinfer_session_create,
        (f->tiny.model, GIVE(session, .precision = (enum glinfer_precision)3), err))
REFUSED_WITH("struct_size", glinfer_session_create, (f->tiny.model, &params, err),
             struct glinfer_generate_params expected = {0};
             WITH(glinfer_session_params, params, params.expected = &expected))
REFUSED("model is NULL", glinfer_sessions_create, (NULL, NULL, 2, sessions, err))
REFUSED("sessions is NULL", glinfer_sessions_create, (f->tiny.model, NULL, 2, NULL, err))
REFUSED("0 sessions", glinfer_sessions_create, (f->tiny.model, NULL, 0, sessions, err))
REFUSED("17 sessions", glinfer_sessions_create, (f->tiny.model, NULL, 17, sessions, err))
REFUSED("context", glinfer_session_create, (f->tiny.model, GIVE(session, .n_ctx = UINT32_MAX), err))
REFUSED("batch of 513", glinfer_session_create, (f->tiny.model, GIVE(session, .n_batch = 513), err))
REFUSED("33 checkpoints", glinfer_session_create,
        (f->tiny.model, GIVE(session, .n_checkpoints = 33), err))

REFUSED_WITH("session is NULL", glinfer_generate, (NULL, &params, NULL, err),
             const struct glinfer_generate_params params = ask(prompt, 2, 1, NULL))
REFUSED("prompt has no tokens", glinfer_generate, (f->session, NULL, NULL, err))
REFUSED_WITH("invalid checkpoints", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 4, 1, NULL);
             params.checkpoints = (const uint32_t[]){2, 2}; params.n_checkpoints = 2)
REFUSED_WITH("invalid checkpoints", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 4, 1, NULL);
             params.checkpoints = (const uint32_t[]){4}; params.n_checkpoints = 1)
REFUSED_WITH("invalid checkpoints", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 4, 1, NULL);
             params.n_checkpoints = 1)
REFUSED_WITH("prompt has no tokens", glinfer_generate, (f->session, &params, NULL, err),
             const struct glinfer_generate_params params = ask(NULL, 2, 1, NULL))
REFUSED_WITH(": stop is NULL", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             params.n_stop = 2)
REFUSED_WITH("stop[i] is NULL", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             const char *const stop[] = {"a", NULL}; params.stop = stop; params.n_stop = 2)
REFUSED_WITH("struct_size", glinfer_generate, (f->session, &params, &stats, err),
             const struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             struct glinfer_stats stats = {0})
REFUSED_WITH("struct_size", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             params.struct_size = offsetof(struct glinfer_generate_params, stop) + 1)
static const int32_t wrong_ids[] = {3, 1 << 30};
REFUSED_WITH("prompt token 1 is 1073741824", glinfer_generate, (f->session, &params, NULL, err),
             const struct glinfer_generate_params params = ask(wrong_ids, 2, 1, NULL))
REFUSED_WITH("65 log-probabilities", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             params.n_probs = 65)
REFUSED_WITH("temperature", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             params.temperature = NAN)
REFUSED_WITH("min_p", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             params.temperature = 1.0F; params.min_p = NAN)
REFUSED("session is NULL", glinfer_begin, (NULL, NULL, err))
REFUSED("prompt has no tokens", glinfer_begin, (f->session, NULL, err))
REFUSED("device is NULL", glinfer_step, (NULL, 1000, &event, err))
REFUSED("event is NULL", glinfer_step, (f->tiny.device, 1000, NULL, err))
REFUSED("struct_size", glinfer_step, (f->tiny.device, 1000, &(struct glinfer_event){0}, err))
REFUSED("no session", glinfer_step, (f->tiny.device, 1000, &event, err))
ROW("device is NULL", glinfer_device_fd, return glinfer_device_fd(NULL, err) < 0)
REFUSED_WITH("context_full is 3", glinfer_generate, (f->session, &params, NULL, err),
             struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
             params.context_full = (enum glinfer_context_full)3)
REFUSED("session is NULL", glinfer_session_prepare, (NULL, NULL, NULL, err))
REFUSED("struct_size", glinfer_session_prepare,
        (f->session, NULL, &(struct glinfer_prepared){0}, err))
REFUSED("session is NULL", glinfer_score, (NULL, prompt, 4, result, err))
REFUSED("ids is NULL", glinfer_score, (f->session, NULL, 4, result, err))
REFUSED("logprobs is NULL", glinfer_score, (f->session, prompt, 4, NULL, err))
REFUSED("top is NULL", glinfer_score_top, (f->session, prompt, 4, 1, result, NULL, err))
REFUSED("logprobs is NULL", glinfer_score_top, (f->session, prompt, 4, 1, NULL, top, err))
REFUSED("n_top", glinfer_score_top, (f->session, prompt, 4, 1u << 30, result, top, err))
REFUSED("session is NULL", glinfer_embed, (NULL, prompt, 4, NULL, result, 4, &n, err))
REFUSED("ids is NULL", glinfer_embed, (f->session, NULL, 4, NULL, NULL, 0, &n, err))
//-- speech ----------------------------------------------------------------------------------------

REFUSED("params is NULL", glinfer_transcription_check, (NULL, err))
REFUSED_WITH("'('", glinfer_transcription_check, (&params, err),
             WITH(glinfer_transcription_params, params, params.suppress = "("))
REFUSED_WITH("klingon", glinfer_transcription_check, (&params, err),
             WITH(glinfer_transcription_params, params, params.language = "klingon"))
REFUSED_WITH("beam_size 17", glinfer_transcription_check, (&params, err),
             WITH(glinfer_transcription_params, params, params.beam_size = 17))
REFUSED("model is NULL", glinfer_transcription_create, (NULL, NULL, err))
REFUSED_WITH("struct_size", glinfer_transcription_create, (f->tiny.model, &params, err),
             WITH(glinfer_transcription_params, params, params.struct_size--))
REFUSED("transcription is NULL", glinfer_transcription_feed, (NULL, result, 1, err))
REFUSED_WITH("transcription is NULL", glinfer_transcription_step, (NULL, 0, &progress, err),
             enum glinfer_transcription_state progress)
REFUSED_WITH("transcription is NULL", glinfer_transcription_measure, (NULL, 0, 1, &times, err),
             struct glinfer_speech_times times = {.struct_size = sizeof(times)})
IGNORED(glinfer_transcription_poll, return !glinfer_transcription_poll(NULL, NULL))
IGNORED(glinfer_transcription_time, return glinfer_transcription_time(NULL) == 0)
IGNORED(glinfer_transcription_end, glinfer_transcription_end(NULL); return true)
IGNORED(glinfer_transcription_cancel, glinfer_transcription_cancel(NULL); return true)
IGNORED(glinfer_transcription_reset, glinfer_transcription_reset(NULL); return true)
IGNORED(glinfer_transcription_destroy, glinfer_transcription_destroy(NULL);
        struct glinfer_transcription *none = NULL; glinfer_transcription_destroy(&none);
        return !none)
IGNORED(glinfer_model_hears, return !glinfer_model_hears(NULL))
IGNORED(glinfer_speech_language, return !glinfer_speech_language(SIZE_MAX))
IGNORED(glinfer_speech_language_name, return !glinfer_speech_language_name(SIZE_MAX))

//-- copies ----------------------------------------------------------------------------------------

REFUSED("session is NULL", glinfer_session_set_adapter_scales, (NULL, NULL, 0, err))
REFUSED("scales is NULL", glinfer_session_set_adapter_scales, (f->session, NULL, 1, err))
REFUSED("to is NULL", glinfer_session_copy, (NULL, f->session, 1, err))
REFUSED("from is NULL", glinfer_session_copy, (f->session, NULL, 1, err))
REFUSED("session is NULL", glinfer_session_save, (NULL, "/dev/null", err))
REFUSED("path is NULL", glinfer_session_save, (f->session, NULL, err))
REFUSED("session is NULL", glinfer_session_load, (NULL, "/dev/null", err))
REFUSED("path is NULL", glinfer_session_load, (f->session, NULL, err))
REFUSED("session is NULL", glinfer_session_save_memory, (NULL, NULL, 0, &n, err))
REFUSED("data is NULL", glinfer_session_save_memory, (f->session, NULL, 5, &n, err))
REFUSED("size is NULL", glinfer_session_save_memory, (f->session, NULL, 0, NULL, err))
REFUSED_WITH("room for 5", glinfer_session_save_memory, (f->session, data, 5, &n, err),
             char data[5])
REFUSED("session is NULL", glinfer_session_load_memory, (NULL, "", 0, err))
REFUSED("data is NULL", glinfer_session_load_memory, (f->session, NULL, 5, err))
REFUSED("session is NULL", glinfer_session_load_prefix, (NULL, "", 0, 0, err))
REFUSED("data is NULL", glinfer_session_load_prefix, (f->session, NULL, 5, 1, err))
REFUSED("session is NULL", glinfer_selftest, (NULL, ignore_tested, NULL, err))
REFUSED("each is NULL", glinfer_selftest, (f->session, NULL, NULL, err))
REFUSED_WITH("session is NULL", glinfer_profile, (NULL, NULL, &stats, err),
             struct glinfer_profile_stats stats = {.struct_size = sizeof(stats)})
REFUSED("struct_size", glinfer_profile, (f->session, NULL, &(struct glinfer_profile_stats){0}, err))
REFUSED("session is NULL", glinfer_tune, (NULL, NULL, NULL, err))
REFUSED_WITH("struct_size", glinfer_tune, (f->session, &params, NULL, err),
             WITH(glinfer_tune_params, params, params.struct_size = 4))

IGNORED(glinfer_session_reset, glinfer_session_reset(NULL); return true)
IGNORED(glinfer_session_rewind, return glinfer_session_rewind(NULL, 4) == 0)
IGNORED(glinfer_session_match, return glinfer_session_match(NULL, prompt, 4) == 0)
IGNORED(glinfer_session_adapter_scales, return glinfer_session_adapter_scales(NULL, NULL, 0) == 0)
IGNORED(glinfer_session_match, return glinfer_session_match(f->session, NULL, 4) == 0)
IGNORED(glinfer_session_ready, return glinfer_session_ready(NULL, 4) == 0)
IGNORED(glinfer_session_tokens, return glinfer_session_tokens(NULL, NULL, 0) == 0)
IGNORED(glinfer_session_tokens, return glinfer_session_tokens(f->session, NULL, 3) == 0)
IGNORED(glinfer_saved_match, return glinfer_saved_match(NULL, 80, prompt, 4, &n) == 0 && n == 0)
IGNORED(glinfer_saved_match, return glinfer_saved_match("glistate", 8, prompt, 4, NULL) == 0)
IGNORED(glinfer_session_cancel, glinfer_session_cancel(NULL); return true)
IGNORED(glinfer_end, glinfer_end(NULL); return true)
IGNORED(glinfer_session_destroy, glinfer_session_destroy(NULL); struct glinfer_session *none = NULL;
        glinfer_session_destroy(&none); return !none)
IGNORED(glinfer_status_text, const enum glinfer_status status = (enum glinfer_status)53;
        return strcmp(glinfer_status_text(status), "unknown status") == 0)
IGNORED(glinfer_dispatch_name, const enum glinfer_dispatch dispatch = (enum glinfer_dispatch) - 1;
        return strcmp(glinfer_dispatch_name(dispatch), "unknown") == 0)
IGNORED(glinfer_version, return glinfer_version()[0] != 0)

//-- tests -----------------------------------------------------------------------------------------

TEST(what_cannot_be_taken_is_refused)
{
    for (const struct row *row = rows; row < rows + n_rows; row++) {
        struct glinfer_error err = {0};
        print_message("%s: %s\n", row->function, row->words ? row->words : "");
        assert_true(row->is_right(*state, &err));
        assert_true(row->is_right(*state, NULL));
        if (row->words) {
            assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
            assert_says(err.message, row->words);
            const size_t size = strcspn(err.message, ": "); // of a name before a colon
            assert_true(err.message[size] == ' ' || strncmp(err.message, row->function, size) == 0);
        }
    }
}

static bool is_covered(const char *function, size_t size)
{
    for (int i = 0; i < n_rows; i++) {
        if (strlen(rows[i].function) == size && memcmp(rows[i].function, function, size) == 0) {
            return true;
        }
    }
    return false;
}

// A declaration begins with GLINFER_API and has its name before the first parenthesis.
TEST(every_function_is_called)
{
    static char text[200000];
    FILE *file = fopen(test_data("../src/glinfer.h"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    int n_functions = 0;
    for (const char *at = text; (at = strstr(at, "\nGLINFER_API "));) {
        at += strlen("\nGLINFER_API ");
        const char *end = at + strcspn(at, "("), *name = end;
        while (name > at && (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z'))) {
            name--;
        }
        print_message("%.*s\n", (int)(end - name), name);
        assert_true(is_covered(name, (size_t)(end - name)));
        n_functions++;
    }
    assert_true(n_functions > 30);
}

// A session that refused all this answers as before.
TEST(nothing_is_lost)
{
    const struct fixture *f = *state;
    struct answer answer = {0};
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, 4, &answer);
    must_generate(f->session, &params);
    assert_int_equal(answer.n, 4);
}

static int open_fixture(void **state)
{
    static struct fixture f;
    *state = &f;
    if (!tiny_model_open(&f.tiny, test_data("data/models/tiny-q4_0.gguf"), NULL)) {
        return -1;
    }
    f.session = open_session(&f.tiny, 4, 64, 0);
    f.tokenizer = glinfer_model_tokenizer(f.tiny.model);
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    glinfer_session_destroy(&f->session);
    tiny_model_close(&f->tiny);
    return 0;
}

RUN_TESTS(open_fixture, close_fixture)
