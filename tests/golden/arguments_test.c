// Every function of glinfer.h refuses what it cannot take, by INVALID_ARGUMENT with a sentence, or
// by doing nothing where it cannot fail. Runs on a tiny model; exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

struct fixture {
    struct tiny_model tiny;
    struct glinfer_session *session;
    const struct glinfer_tokenizer *tokenizer;
};

// Calls a function with an argument that it cannot take. True if it says that it failed.
typedef bool (*refused_fn)(struct fixture *f, struct glinfer_error *err);
// Calls a function that has no way to fail. True if nothing came of it.
typedef bool (*ignored_fn)(struct fixture *f);

// Settings with one field that is wrong, filled by their _init function.
#define WITH(type, params, wrong)                                                                  \
    struct type params;                                                                            \
    type##_init(&params);                                                                          \
    wrong

#define REFUSED(name, ...)                                                                         \
    static bool name(struct fixture *f, struct glinfer_error *err)                                 \
    {                                                                                              \
        (void)f;                                                                                   \
        __VA_ARGS__;                                                                               \
    }
#define IGNORED(name, ...)                                                                         \
    static bool name(struct fixture *f)                                                            \
    {                                                                                              \
        (void)f;                                                                                   \
        __VA_ARGS__;                                                                               \
    }

static void ignore_tested(void *user, const struct glinfer_tested *tested)
{
    (void)user;
    (void)tested;
}

//-- device ----------------------------------------------------------------------------------------

REFUSED(create_cut, WITH(glinfer_device_params, params, params.struct_size = 12);
        return !glinfer_device_create(&params, err))
REFUSED(create_unfilled, struct glinfer_device_params params = {0};
        return !glinfer_device_create(&params, err))
REFUSED(measure_no_device, struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
        return !glinfer_device_measure(NULL, &rates, err))
REFUSED(recover_no_device, return !glinfer_device_recover(NULL, NULL, NULL, err))
REFUSED(measure_no_rates, return !glinfer_device_measure(f->tiny.device, NULL, err))
REFUSED(measure_unfilled, struct glinfer_device_rates rates = {0};
        return !glinfer_device_measure(f->tiny.device, &rates, err))
REFUSED(set_host_no_device, return !glinfer_device_set_host(NULL, NULL, err))
REFUSED(set_host_no_host, return !glinfer_device_set_host(f->tiny.device, NULL, err))
REFUSED(reset_tuning, return !glinfer_device_reset_tuning(NULL, err))

IGNORED(list_cut, WITH(glinfer_device_params, params, params.struct_size = 9);
        return glinfer_device_list(&params, NULL, NULL) == 0)
IGNORED(check_no_error, glinfer_driver_cache_check(NULL); return true) // there may be no room
IGNORED(describe_no_device, struct glinfer_device_info info = {.struct_size = sizeof(info)};
        glinfer_device_describe(NULL, &info); return info.device[0] == 0)
IGNORED(describe_no_info, glinfer_device_describe(f->tiny.device, NULL); return true)
IGNORED(destroy_device, glinfer_device_destroy(NULL); struct glinfer_device *none = NULL;
        glinfer_device_destroy(&none); return !none)
IGNORED(tuning_no_device, return glinfer_device_tuning(NULL, NULL, NULL) == 0)

//-- model -----------------------------------------------------------------------------------------

REFUSED(inspect_no_path, WITH(glinfer_model_params, params, ;);
        struct glinfer_model_info info = {.struct_size = sizeof(info)};
        return !glinfer_model_inspect(&params, &info, err))
REFUSED(inspect_no_params, struct glinfer_model_info info = {.struct_size = sizeof(info)};
        return !glinfer_model_inspect(NULL, &info, err))
REFUSED(inspect_no_info, WITH(glinfer_model_params, params, params.path = "a model");
        return !glinfer_model_inspect(&params, NULL, err))
REFUSED(inspect_type, WITH(glinfer_model_params, params, params.path = "a model");
        params.type_k = (enum glinfer_cache_type)26;
        struct glinfer_model_info info = {.struct_size = sizeof(info)};
        return !glinfer_model_inspect(&params, &info, err))
REFUSED(load_no_device, WITH(glinfer_model_params, params, params.path = "a model");
        return !glinfer_model_load(NULL, &params, err))
REFUSED(load_no_path, WITH(glinfer_model_params, params, ;);
        return !glinfer_model_load(f->tiny.device, &params, err))
REFUSED(load_no_params, return !glinfer_model_load(f->tiny.device, NULL, err))
REFUSED(load_cut, WITH(glinfer_model_params, params, params.path = "a model");
        params.struct_size = offsetof(struct glinfer_model_params, path) + 4;
        return !glinfer_model_load(f->tiny.device, &params, err))
REFUSED(load_type, WITH(glinfer_model_params, params, params.path = "a model");
        params.type_v = (enum glinfer_cache_type) - 1;
        return !glinfer_model_load(f->tiny.device, &params, err))

IGNORED(model_describe_no_model, struct glinfer_model_info info = {.struct_size = sizeof(info)};
        glinfer_model_describe(NULL, &info); return info.n_layer == 0)
IGNORED(model_describe_no_info, glinfer_model_describe(f->tiny.model, NULL); return true)
IGNORED(tokenizer_no_model, return !glinfer_model_tokenizer(NULL))
IGNORED(destroy_model, glinfer_model_destroy(NULL); struct glinfer_model *none = NULL;
        glinfer_model_destroy(&none); return !none)

//-- tokenizer -------------------------------------------------------------------------------------

REFUSED(tokenizer_no_path, return !glinfer_tokenizer_load(NULL, err))
REFUSED(tokenizer_no_source, return !glinfer_tokenizer_load_source(NULL, err))
REFUSED(tokenize_no_tokenizer, size_t n;
        return !glinfer_tokenize(NULL, "a", 1, 0, NULL, 0, &n, err))
REFUSED(tokenize_no_text, size_t n;
        return !glinfer_tokenize(f->tokenizer, NULL, 1, 0, NULL, 0, &n, err))
REFUSED(pair_no_text, return !glinfer_tokenize_pair(f->tokenizer, "", 0, NULL, 1, 0, 0, 0, err))
REFUSED(tokenize_no_ids, size_t n;
        return !glinfer_tokenize(f->tokenizer, "a", 1, 0, NULL, 4, &n, err))
REFUSED(tokenize_no_n, return !glinfer_tokenize(f->tokenizer, "a", 1, 0, NULL, 0, NULL, err))
REFUSED(tokenize_flags, size_t n;
        return !glinfer_tokenize(f->tokenizer, "a", 1, 64, NULL, 0, &n, err))
static const struct glinfer_message question = {"user", "a"}, no_role = {NULL, "a"},
                                    no_content = {"user", NULL};
REFUSED(chat_no_tokenizer, size_t n;
        return !glinfer_chat_tokenize(NULL, &question, 1, NULL, 0, &n, err))
REFUSED(chat_no_messages, size_t n;
        return !glinfer_chat_tokenize(f->tokenizer, NULL, 1, NULL, 0, &n, err))
REFUSED(chat_no_role, size_t n;
        return !glinfer_chat_tokenize(f->tokenizer, &no_role, 1, NULL, 0, &n, err))
REFUSED(chat_no_content, size_t n;
        return !glinfer_chat_tokenize(f->tokenizer, &no_content, 1, NULL, 0, &n, err))
REFUSED(chat_no_ids, size_t n;
        return !glinfer_chat_tokenize(f->tokenizer, &question, 1, NULL, 4, &n, err))
REFUSED(chat_no_n, return !glinfer_chat_tokenize(f->tokenizer, &question, 1, NULL, 0, NULL, err))
static const struct glinfer_chat_json chat_json = {.struct_size = sizeof(chat_json),
                                                   .messages = "[]"},
                                      ended_json = {.struct_size = sizeof(ended_json),
                                                    .messages = "[]",
                                                    .end = (enum glinfer_chat_end)3},
                                      no_json = {.struct_size = sizeof(no_json)},
                                      cut_json = {.struct_size = 9, .messages = "[]"};
REFUSED(json_no_tokenizer, size_t n;
        return !glinfer_chat_tokenize_json(NULL, &chat_json, NULL, 0, &n, err))
REFUSED(json_no_chat, size_t n;
        return !glinfer_chat_tokenize_json(f->tokenizer, NULL, NULL, 0, &n, err))
REFUSED(json_cut, size_t n;
        return !glinfer_chat_tokenize_json(f->tokenizer, &cut_json, NULL, 0, &n, err))
REFUSED(json_no_messages, size_t n;
        return !glinfer_chat_tokenize_json(f->tokenizer, &no_json, NULL, 0, &n, err))
REFUSED(json_no_ids, size_t n;
        return !glinfer_chat_tokenize_json(f->tokenizer, &chat_json, NULL, 4, &n, err))
REFUSED(json_end, size_t n;
        return !glinfer_chat_tokenize_json(f->tokenizer, &ended_json, NULL, 0, &n, err))
REFUSED(json_no_n, return !glinfer_chat_tokenize_json(f->tokenizer, &chat_json, NULL, 0, NULL, err))

REFUSED(grammar_none, return !glinfer_grammar_check(NULL, err))
REFUSED(grammar_empty, WITH(glinfer_grammar, grammar, (void)0);
        return !glinfer_grammar_check(&grammar, err))
REFUSED(grammar_cut, struct glinfer_grammar grammar = {0};
        return !glinfer_grammar_check(&grammar, err))
REFUSED(grammar_wrong, WITH(glinfer_grammar, grammar, grammar.gbnf = "root ::= \"a");
        return !glinfer_grammar_check(&grammar, err))

IGNORED(template_past_the_last, return !glinfer_chat_template_at(1000000))
IGNORED(bytes_no_tokenizer, size_t n; return !glinfer_token_bytes(NULL, 1, &n))
IGNORED(bytes_no_size, return !glinfer_token_bytes(f->tokenizer, 1, NULL))
IGNORED(bytes_no_such_id, size_t n; return !glinfer_token_bytes(f->tokenizer, -1, &n))
IGNORED(chat_available_no_tokenizer, return !glinfer_chat_available(NULL))
IGNORED(destroy_tokenizer, glinfer_tokenizer_destroy(NULL); struct glinfer_tokenizer *none = NULL;
        glinfer_tokenizer_destroy(&none); return !none)

//-- session ---------------------------------------------------------------------------------------

REFUSED(session_no_model, return !glinfer_session_create(NULL, NULL, err))
REFUSED(session_cut, WITH(glinfer_session_params, params, params.struct_size--);
        return !glinfer_session_create(f->tiny.model, &params, err))
REFUSED(session_type_k, WITH(glinfer_session_params, params, );
        params.type_k = (enum glinfer_cache_type)53;
        return !glinfer_session_create(f->tiny.model, &params, err))
REFUSED(session_type_v, WITH(glinfer_session_params, params, );
        params.type_v = (enum glinfer_cache_type) - 1;
        return !glinfer_session_create(f->tiny.model, &params, err))
REFUSED(session_precision, WITH(glinfer_session_params, params, );
        params.precision = (enum glinfer_precision)3;
        return !glinfer_session_create(f->tiny.model, &params, err))
REFUSED(session_expected, struct glinfer_generate_params expected = {0};
        WITH(glinfer_session_params, params, params.expected = &expected);
        return !glinfer_session_create(f->tiny.model, &params, err))
REFUSED(sessions_no_model, struct glinfer_session *sessions[2];
        return !glinfer_sessions_create(NULL, NULL, 2, sessions, err))
REFUSED(sessions_no_place, return !glinfer_sessions_create(f->tiny.model, NULL, 2, NULL, err))
REFUSED(sessions_none, struct glinfer_session *sessions[1];
        return !glinfer_sessions_create(f->tiny.model, NULL, 0, sessions, err))
REFUSED(sessions_seventeen, struct glinfer_session *sessions[17];
        return !glinfer_sessions_create(f->tiny.model, NULL, 17, sessions, err))
REFUSED(session_batch, WITH(glinfer_session_params, params, params.n_batch = 513);
        return !glinfer_session_create(f->tiny.model, &params, err))

static bool generate(const struct fixture *f, const struct glinfer_generate_params *params,
                     struct glinfer_stats *stats, struct glinfer_error *err)
{
    return glinfer_generate(f->session, params, stats, err);
}
REFUSED(generate_no_session, const struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
        return !glinfer_generate(NULL, &params, NULL, err))
REFUSED(generate_no_params, return !generate(f, NULL, NULL, err))
REFUSED(generate_no_prompt, const struct glinfer_generate_params params = ask(NULL, 2, 1, NULL);
        return !generate(f, &params, NULL, err))
REFUSED(generate_no_stops, struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
        params.n_stop = 2; return !generate(f, &params, NULL, err))
REFUSED(generate_no_stop, struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
        const char *const stop[] = {"a", NULL}; params.stop = stop; params.n_stop = 2;
        return !generate(f, &params, NULL, err))
REFUSED(generate_unfilled_stats,
        const struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
        struct glinfer_stats stats = {0}; return !generate(f, &params, &stats, err))
REFUSED(generate_cut, struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
        params.struct_size = offsetof(struct glinfer_generate_params, stop) + 1;
        return !generate(f, &params, NULL, err))
REFUSED(begin_no_session, return !glinfer_begin(NULL, NULL, err))
REFUSED(begin_no_prompt, return !glinfer_begin(f->session, NULL, err))
REFUSED(step_no_device, struct glinfer_event event = {.struct_size = sizeof(event)};
        return !glinfer_step(NULL, 1000, &event, err))
REFUSED(step_no_event, return !glinfer_step(f->tiny.device, 1000, NULL, err))
REFUSED(step_unfilled, struct glinfer_event event = {0};
        return !glinfer_step(f->tiny.device, 1000, &event, err))
REFUSED(step_no_answer, struct glinfer_event event = {.struct_size = sizeof(event)};
        return !glinfer_step(f->tiny.device, 1000, &event, err))
REFUSED(fd_no_device, return glinfer_device_fd(NULL, err) < 0)
REFUSED(generate_context_full, struct glinfer_generate_params params = ask(prompt, 2, 1, NULL);
        params.context_full = (enum glinfer_context_full)3; return !generate(f, &params, NULL, err))
REFUSED(prepare_no_session, return !glinfer_session_prepare(NULL, NULL, NULL, err))
REFUSED(prepare_unfilled, struct glinfer_prepared prepared = {0};
        return !glinfer_session_prepare(f->session, NULL, &prepared, err))
REFUSED(score_no_session, float result[4]; return !glinfer_score(NULL, prompt, 4, result, err))
REFUSED(score_no_ids, float result[4]; return !glinfer_score(f->session, NULL, 4, result, err))
REFUSED(score_no_result, return !glinfer_score(f->session, prompt, 4, NULL, err))
REFUSED(top_no_top, float result[4];
        return !glinfer_score_top(f->session, prompt, 4, 1, result, NULL, err))
REFUSED(top_no_result, struct glinfer_prob top[4];
        return !glinfer_score_top(f->session, prompt, 4, 1, NULL, top, err))
REFUSED(top_large, float result[4]; struct glinfer_prob top[4];
        return !glinfer_score_top(f->session, prompt, 4, 1u << 30, result, top, err))
REFUSED(embed_no_session, float value[4]; size_t n;
        return !glinfer_embed(NULL, prompt, 4, NULL, value, 4, &n, err))
REFUSED(embed_no_ids, size_t n; return !glinfer_embed(f->session, NULL, 4, NULL, NULL, 0, &n, err))
REFUSED(copy_no_target, return !glinfer_session_copy(NULL, f->session, 1, err))
REFUSED(copy_no_source, return !glinfer_session_copy(f->session, NULL, 1, err))
REFUSED(save_no_session, return !glinfer_session_save(NULL, "/dev/null", err))
REFUSED(save_no_path, return !glinfer_session_save(f->session, NULL, err))
REFUSED(load_no_session, return !glinfer_session_load(NULL, "/dev/null", err))
REFUSED(load_no_file, return !glinfer_session_load(f->session, NULL, err))
REFUSED(save_memory_no_session, size_t size;
        return !glinfer_session_save_memory(NULL, NULL, 0, &size, err))
REFUSED(save_memory_no_data, size_t size;
        return !glinfer_session_save_memory(f->session, NULL, 5, &size, err))
REFUSED(save_memory_no_size, return !glinfer_session_save_memory(f->session, NULL, 0, NULL, err))
REFUSED(save_memory_no_room, size_t size; char data[5];
        return !glinfer_session_save_memory(f->session, data, 5, &size, err))
REFUSED(load_memory_no_session, return !glinfer_session_load_memory(NULL, "", 0, err))
REFUSED(load_memory_no_data, return !glinfer_session_load_memory(f->session, NULL, 5, err))
REFUSED(selftest_no_session, return !glinfer_selftest(NULL, ignore_tested, NULL, err))
REFUSED(selftest_no_each, return !glinfer_selftest(f->session, NULL, NULL, err))
REFUSED(profile_no_session, struct glinfer_profile_stats stats = {.struct_size = sizeof(stats)};
        return !glinfer_profile(NULL, NULL, &stats, err))
REFUSED(profile_unfilled, struct glinfer_profile_stats stats = {0};
        return !glinfer_profile(f->session, NULL, &stats, err))
REFUSED(tune_no_session, return !glinfer_tune(NULL, NULL, NULL, err))
REFUSED(tune_cut, WITH(glinfer_tune_params, params, params.struct_size = 4);
        return !glinfer_tune(f->session, &params, NULL, err))

IGNORED(reset_no_session, glinfer_session_reset(NULL); return true)
IGNORED(rewind_no_session, return glinfer_session_rewind(NULL, 4) == 0)
IGNORED(match_no_session, return glinfer_session_match(NULL, prompt, 4) == 0)
IGNORED(match_no_ids, return glinfer_session_match(f->session, NULL, 4) == 0)
IGNORED(cancel_no_session, glinfer_session_cancel(NULL); return true)
IGNORED(end_no_session, glinfer_end(NULL); return true)
IGNORED(destroy_session, glinfer_session_destroy(NULL); struct glinfer_session *none = NULL;
        glinfer_session_destroy(&none); return !none)
IGNORED(unknown_status, const enum glinfer_status status = (enum glinfer_status)53;
        return strcmp(glinfer_status_text(status), "unknown status") == 0)
IGNORED(unknown_dispatch, const enum glinfer_dispatch dispatch = (enum glinfer_dispatch) - 1;
        return strcmp(glinfer_dispatch_name(dispatch), "unknown") == 0)
IGNORED(version_takes_nothing, return glinfer_version()[0] != 0)

//-- the tables ------------------------------------------------------------------------------------

static const struct {
    const char *function, *words; // words that the sentence has
    refused_fn is_refused;
} refused[] = {
    {"glinfer_device_create", "struct_size", create_cut},
    {"glinfer_device_create", "struct_size", create_unfilled},
    {"glinfer_device_set_host", "device is NULL", set_host_no_device},
    {"glinfer_device_set_host", "host is NULL", set_host_no_host},
    {"glinfer_device_recover", "device is NULL", recover_no_device},
    {"glinfer_device_measure", "device is NULL", measure_no_device},
    {"glinfer_device_measure", "rates is NULL", measure_no_rates},
    {"glinfer_device_measure", "struct_size", measure_unfilled},
    {"glinfer_device_reset_tuning", "device is NULL", reset_tuning},
    {"glinfer_model_inspect", "path is NULL", inspect_no_path},
    {"glinfer_model_inspect", "path is NULL", inspect_no_params},
    {"glinfer_model_inspect", "info is NULL", inspect_no_info},
    {"glinfer_model_inspect", "type_k is 26", inspect_type},
    {"glinfer_model_load", "device is NULL", load_no_device},
    {"glinfer_model_load", ": path is NULL", load_no_path},
    {"glinfer_model_load", "path is NULL", load_no_params},
    {"glinfer_model_load", "struct_size", load_cut},
    {"glinfer_model_load", "type_v is ", load_type},
    {"glinfer_tokenizer_load", "path is NULL", tokenizer_no_path},
    {"glinfer_tokenizer_load_source", "source is NULL", tokenizer_no_source},
    {"glinfer_tokenize", "tokenizer is NULL", tokenize_no_tokenizer},
    {"glinfer_tokenize", "text is NULL", tokenize_no_text},
    {"glinfer_tokenize", "ids is NULL", tokenize_no_ids},
    {"glinfer_tokenize_pair", "text is NULL", pair_no_text},
    {"glinfer_tokenize", "n is NULL", tokenize_no_n},
    {"glinfer_tokenize", "flags is 64", tokenize_flags},
    {"glinfer_chat_tokenize", "tokenizer is NULL", chat_no_tokenizer},
    {"glinfer_chat_tokenize", "messages is NULL", chat_no_messages},
    {"glinfer_chat_tokenize", "role is NULL", chat_no_role},
    {"glinfer_chat_tokenize", "content is NULL", chat_no_content},
    {"glinfer_chat_tokenize", "ids is NULL", chat_no_ids},
    {"glinfer_chat_tokenize", "n is NULL", chat_no_n},
    {"glinfer_chat_tokenize_json", "tokenizer is NULL", json_no_tokenizer},
    {"glinfer_chat_tokenize_json", "chat is NULL", json_no_chat},
    {"glinfer_chat_tokenize_json", "struct_size", json_cut},
    {"glinfer_chat_tokenize_json", "messages is NULL", json_no_messages},
    {"glinfer_chat_tokenize_json", "ids is NULL", json_no_ids},
    {"glinfer_chat_tokenize_json", "end", json_end},
    {"glinfer_chat_tokenize_json", "n is NULL", json_no_n},
    {"glinfer_grammar_check", "grammar is NULL", grammar_none},
    {"glinfer_grammar_check", "neither was", grammar_empty},
    {"glinfer_grammar_check", "struct_size", grammar_cut},
    {"glinfer_grammar_check", "line 1", grammar_wrong},
    {"glinfer_session_create", "model is NULL", session_no_model},
    {"glinfer_session_create", "struct_size", session_cut},
    {"glinfer_session_create", ": type_k is 53", session_type_k},
    {"glinfer_session_create", "type_v is ", session_type_v},
    {"glinfer_session_create", "precision is 3", session_precision},
    {"glinfer_session_create", "struct_size", session_expected},
    {"glinfer_session_create", "batch of 513", session_batch},
    {"glinfer_sessions_create", "model is NULL", sessions_no_model},
    {"glinfer_sessions_create", "sessions is NULL", sessions_no_place},
    {"glinfer_sessions_create", "0 sessions", sessions_none},
    {"glinfer_sessions_create", "17 sessions", sessions_seventeen},
    {"glinfer_generate", "session is NULL", generate_no_session},
    {"glinfer_generate", "prompt has no tokens", generate_no_params},
    {"glinfer_generate", "prompt has no tokens", generate_no_prompt},
    {"glinfer_generate", ": stop is NULL", generate_no_stops},
    {"glinfer_generate", "stop[i] is NULL", generate_no_stop},
    {"glinfer_generate", "struct_size", generate_unfilled_stats},
    {"glinfer_generate", "struct_size", generate_cut},
    {"glinfer_generate", "context_full is 3", generate_context_full},
    {"glinfer_session_prepare", "session is NULL", prepare_no_session},
    {"glinfer_session_prepare", "struct_size", prepare_unfilled},
    {"glinfer_score", "session is NULL", score_no_session},
    {"glinfer_score", "ids is NULL", score_no_ids},
    {"glinfer_score", "logprobs is NULL", score_no_result},
    {"glinfer_score_top", "top is NULL", top_no_top},
    {"glinfer_score_top", "logprobs is NULL", top_no_result},
    {"glinfer_score_top", "n_top", top_large},
    {"glinfer_embed", "session is NULL", embed_no_session},
    {"glinfer_embed", "ids is NULL", embed_no_ids},
    {"glinfer_session_copy", "to is NULL", copy_no_target},
    {"glinfer_session_copy", "from is NULL", copy_no_source},
    {"glinfer_session_save", "session is NULL", save_no_session},
    {"glinfer_session_save", "path is NULL", save_no_path},
    {"glinfer_session_load", "session is NULL", load_no_session},
    {"glinfer_session_load", "path is NULL", load_no_file},
    {"glinfer_session_save_memory", "session is NULL", save_memory_no_session},
    {"glinfer_session_save_memory", "data is NULL", save_memory_no_data},
    {"glinfer_session_save_memory", "size is NULL", save_memory_no_size},
    {"glinfer_session_save_memory", "room for 5", save_memory_no_room},
    {"glinfer_session_load_memory", "session is NULL", load_memory_no_session},
    {"glinfer_session_load_memory", "data is NULL", load_memory_no_data},
    {"glinfer_profile", "session is NULL", profile_no_session},
    {"glinfer_selftest", "session is NULL", selftest_no_session},
    {"glinfer_selftest", "each is NULL", selftest_no_each},
    {"glinfer_profile", "struct_size", profile_unfilled},
    {"glinfer_tune", "session is NULL", tune_no_session},
    {"glinfer_tune", "struct_size", tune_cut},
    {"glinfer_begin", "session is NULL", begin_no_session},
    {"glinfer_begin", "prompt has no tokens", begin_no_prompt},
    {"glinfer_step", "struct_size", step_unfilled},
    {"glinfer_step", "device is NULL", step_no_device},
    {"glinfer_step", "event is NULL", step_no_event},
    {"glinfer_step", "no session", step_no_answer},
    {"glinfer_device_fd", "device is NULL", fd_no_device},
};

static const struct {
    const char *function;
    ignored_fn is_ignored;
} ignored[] = {
    {"glinfer_device_list", list_cut},
    {"glinfer_driver_cache_check", check_no_error},
    {"glinfer_device_describe", describe_no_device},
    {"glinfer_device_describe", describe_no_info},
    {"glinfer_device_destroy", destroy_device},
    {"glinfer_device_tuning", tuning_no_device},
    {"glinfer_model_describe", model_describe_no_model},
    {"glinfer_model_describe", model_describe_no_info},
    {"glinfer_model_tokenizer", tokenizer_no_model},
    {"glinfer_model_destroy", destroy_model},
    {"glinfer_chat_template_at", template_past_the_last},
    {"glinfer_token_bytes", bytes_no_tokenizer},
    {"glinfer_token_bytes", bytes_no_size},
    {"glinfer_token_bytes", bytes_no_such_id},
    {"glinfer_chat_available", chat_available_no_tokenizer},
    {"glinfer_tokenizer_destroy", destroy_tokenizer},
    {"glinfer_session_reset", reset_no_session},
    {"glinfer_session_rewind", rewind_no_session},
    {"glinfer_session_match", match_no_session},
    {"glinfer_session_match", match_no_ids},
    {"glinfer_session_cancel", cancel_no_session},
    {"glinfer_end", end_no_session},
    {"glinfer_session_destroy", destroy_session},
    {"glinfer_status_text", unknown_status},
    {"glinfer_dispatch_name", unknown_dispatch},
    {"glinfer_version", version_takes_nothing},
};

enum { N_REFUSED = sizeof(refused) / sizeof(refused[0]) };
enum { N_IGNORED = sizeof(ignored) / sizeof(ignored[0]) };

TEST(what_cannot_be_taken_is_refused)
{
    for (int i = 0; i < N_REFUSED; i++) {
        struct glinfer_error err = {0};
        print_message("%s: %s\n", refused[i].function, refused[i].words);
        assert_true(refused[i].is_refused(*state, &err));
        assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, refused[i].words));
        const size_t size = strcspn(err.message, ": "); // of a name in front of a colon
        assert_true(err.message[size] == ' ' ||
                    strncmp(err.message, refused[i].function, size) == 0);
        assert_true(refused[i].is_refused(*state, NULL));
    }
}

TEST(what_cannot_fail_does_nothing)
{
    for (int i = 0; i < N_IGNORED; i++) {
        print_message("%s\n", ignored[i].function);
        assert_true(ignored[i].is_ignored(*state));
    }
}

static bool is_covered(const char *function, size_t size)
{
    for (int i = 0; i < N_REFUSED + N_IGNORED; i++) {
        const char *name = i < N_REFUSED ? refused[i].function : ignored[i - N_REFUSED].function;
        if (strlen(name) == size && memcmp(name, function, size) == 0) {
            return true;
        }
    }
    return false;
}

// A declaration begins with GLINFER_API and has its name before the first parenthesis.
TEST(the_tables_have_every_function)
{
    static char text[200000];
    FILE *file = fopen(test_data("../src/glinfer.h"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    int n = 0;
    for (const char *at = text; (at = strstr(at, "\nGLINFER_API "));) {
        at += strlen("\nGLINFER_API ");
        const char *end = at + strcspn(at, "("), *name = end;
        while (name > at && (name[-1] == '_' || (name[-1] >= 'a' && name[-1] <= 'z'))) {
            name--;
        }
        print_message("%.*s\n", (int)(end - name), name);
        assert_true(is_covered(name, (size_t)(end - name)));
        n++;
    }
    assert_true(n > 30);
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
