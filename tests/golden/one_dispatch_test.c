// Chains of steps in one dispatch, against ordinary ones: the same tokens, asked for before the first answer or
// compiled elsewhere while answers go on; what trying out showed, kept for the next session; a fault in the middle
// of an answer that changes no token, a refusal where groups do not run at the same time. On a software renderer a
// single group does all the work; exits 77 without a device.
#include "glinfer.h"
#include "unit/cmocka_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MODELS
#error "MODELS: the folder of the tiny models"
#endif

enum {
    N_TOKENS = 40,
    N_LONG = 1000,
    N_PERSISTENT_ENDS = 3, // greedy, drawn among few, among many
    SKIPPED = 77,
};

//-- a device and what it says ---------------------------------------------------------------------

struct setup {
    struct glinfer_device *device;
    struct glinfer_model *model;
    struct glinfer_session *session;
    char log[65536];
    size_t log_size;
};

struct answer {
    int32_t ids[N_TOKENS];
    int n;
};

static char cache[64]; // of programs, made for the tests

// What sessions are told to expect; NULL: nothing.
static const struct glinfer_generate_params *expected_next;

static void keep_log(void *user, enum glinfer_log_level level, const char *message)
{
    struct setup *setup = user;
    const size_t room = sizeof(setup->log) - setup->log_size;
    (void)level;
    const int size = snprintf(setup->log + setup->log_size, room, "%s\n", message);
    if (size > 0 && (size_t)size < room) {
        setup->log_size += (size_t)size;
    }
}

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct answer *answer = user;
    if (token->id >= 0 && answer->n < N_TOKENS) {
        answer->ids[answer->n++] = token->id;
    }
    return true;
}

// Programs that another process is asked for: here they wait for compile_jobs().
static struct job {
    void *data;
    size_t size;
} jobs[N_PERSISTENT_ENDS];
static int n_jobs;

static bool keep_job(void *user, const void *data, size_t size)
{
    (void)user;
    if (n_jobs == N_PERSISTENT_ENDS) {
        return false;
    }
    struct job *job = &jobs[n_jobs++];
    *job = (struct job){malloc(size), size};
    assert_non_null(job->data);
    memcpy(job->data, data, size);
    return true;
}

static void must(bool ok, const struct glinfer_error *err)
{
    if (!ok) {
        fail_msg("%s", err->message);
    }
}

// mode NULL: none is asked for.
static void open_setup(struct setup *setup, const char *mode)
{
    struct glinfer_device_params device;
    struct glinfer_model_params model;
    struct glinfer_session_params session;
    struct glinfer_error err;
    memset(setup, 0, sizeof(*setup));
    glinfer_device_params_init(&device);
    device.allow_software = true;
    device.log = keep_log;
    device.log_user = setup;
    device.cache_dir = cache;
    device.delegate = keep_job;
    unsetenv("GLINFER_DISPATCH");
    if (mode) {
        setenv("GLINFER_DISPATCH", mode, 1);
    }
    setup->device = glinfer_device_create(&device, &err);
    unsetenv("GLINFER_DISPATCH");
    if (!setup->device) {
        printf("skipped: %s\n", err.message);
        exit(SKIPPED);
    }
    glinfer_model_params_init(&model);
    model.path = MODELS "/tiny-q4_0.gguf";
    setup->model = glinfer_model_load(setup->device, &model, &err);
    must(setup->model != NULL, &err);
    glinfer_session_params_init(&session);
    session.n_ctx = 2048;
    session.expected = expected_next;
    setup->session = glinfer_session_create(setup->model, &session, &err);
    must(setup->session != NULL, &err);
}

static void close_setup(struct setup *setup)
{
    glinfer_session_destroy(&setup->session);
    glinfer_model_destroy(&setup->model);
    glinfer_device_destroy(&setup->device);
}

static struct glinfer_stats answer_with(struct setup *setup, struct glinfer_generate_params params,
                                        struct answer *answer)
{
    static const int32_t prompt[] = {72, 101, 108, 108, 111, 32, 119, 111};
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err;
    memset(answer, 0, sizeof(*answer));
    glinfer_session_reset(setup->session);
    if (!params.prompt) {
        params.prompt = prompt;
        params.n_prompt = sizeof(prompt) / sizeof(prompt[0]);
    }
    params.n_predict = N_TOKENS;
    params.seed = 4711;
    params.on_token = on_token;
    params.token_user = answer;
    must(glinfer_generate(setup->session, &params, &stats, &err), &err);
    return stats;
}

static struct glinfer_generate_params draw_by(float temperature, uint32_t top_k, float top_p)
{
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.ignore_eos = true;
    params.temperature = temperature;
    params.top_k = top_k;
    params.top_p = top_p;
    return params;
}

static struct glinfer_stats answer_prompt(struct setup *setup, float temperature, bool ignore_eos,
                                          struct answer *answer)
{
    struct glinfer_generate_params params = draw_by(temperature, 40, 0.95F);
    params.ignore_eos = ignore_eos;
    return answer_with(setup, params, answer);
}

static bool is_software(void)
{
    static struct setup setup;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    open_setup(&setup, "direct");
    glinfer_device_describe(setup.device, &info);
    close_setup(&setup);
    return info.is_software;
}

enum { N_ANSWERS = 6 };

// The tokens of ordinary chains and of those of a mode, greedy and drawn; the mode's log in *setup.
static void expect_same_tokens(struct setup *setup, const char *mode)
{
    struct answer expected[N_ANSWERS], found[N_ANSWERS];
    struct glinfer_stats stats[2][N_ANSWERS];
    for (int i = 0; i < 2; i++) {
        struct answer *answers = i == 0 ? expected : found;
        open_setup(setup, i == 0 ? "direct" : mode);
        stats[i][0] = answer_prompt(setup, 0.0F, true, &answers[0]);
        stats[i][1] = answer_prompt(setup, 1.0F, true, &answers[1]);
        stats[i][2] = answer_prompt(setup, 1.5F, false, &answers[2]); // may end early
        stats[i][3] = answer_with(setup, draw_by(0.8F, 0, 0.9F), &answers[3]);
        stats[i][4] = answer_with(setup, draw_by(0.8F, 0, 1.0F), &answers[4]);
        stats[i][5] = answer_with(setup, draw_by(1.0F, 200, 1.0F), &answers[5]);
        close_setup(setup);
    }
    for (int i = 0; i < N_ANSWERS; i++) {
        assert_int_equal(found[i].n, expected[i].n);
        assert_memory_equal(found[i].ids, expected[i].ids, sizeof(found[i].ids));
        assert_int_equal(stats[1][i].stop, stats[0][i].stop);
        assert_int_equal(stats[1][i].n_past, stats[0][i].n_past);
    }
}

static const char *pick(const char *on_software, const char *on_hardware)
{
    return is_software() ? on_software : on_hardware;
}

static void compile_jobs(void)
{
    struct glinfer_device_params params;
    struct glinfer_error err;
    glinfer_device_params_init(&params);
    params.allow_software = true;
    params.cache_dir = cache;
    struct glinfer_device *device = glinfer_device_create(&params, &err);
    must(device != NULL, &err);
    while (n_jobs > 0) {
        struct job *job = &jobs[--n_jobs];
        must(glinfer_device_compile(device, job->data, job->size, &err), &err);
        free(job->data);
    }
    glinfer_device_destroy(&device);
}

//-- what is kept on disk --------------------------------------------------------------------------

typedef void (*file_fn)(const char *path);

static int each_file(const char *part, file_fn visit)
{
    char folder[128], path[512];
    int n = 0;
    snprintf(folder, sizeof(folder), "%s/%s", cache, part);
    DIR *stream = opendir(folder);
    for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream)) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            visit(path);
            n++;
        }
    }
    if (stream) {
        closedir(stream);
    }
    return n;
}

static void remove_file(const char *path)
{
    unlink(path);
}

static void keep_file(const char *path)
{
    (void)path;
}

// Makes a verdict, whatever it is, one of wrong tokens.
static void make_wrong(const char *path)
{
    char line[256] = "", *comma;
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    char *colon = strchr(line, ':');
    assert_non_null(colon);
    comma = strchr(colon, ',');
    assert_non_null(comma);
    rewind(file);
    fprintf(file, "%.*s: wrong%s", (int)(colon - line), line, comma);
    assert_int_equal(ftruncate(fileno(file), ftell(file)), 0);
    fclose(file);
}

static void cut_short(const char *path)
{
    assert_int_equal(truncate(path, 50), 0);
}

//-- tests -----------------------------------------------------------------------------------------

static struct setup last;

static void one_dispatch_gives_the_tokens_of_many(void **state)
{
    (void)state;
    expect_same_tokens(&last, is_software() ? "persistent:1" : "persistent");
    assert_non_null(strstr(last.log, "a chain of steps is one dispatch"));
    assert_null(strstr(last.log, "given up"));
}

// A program takes long to compile: none is made that nobody asked for yet.
static void what_is_expected_comes_first(void **state)
{
    const struct glinfer_generate_params greedy = draw_by(0.0F, 40, 0.95F);
    struct answer answer;
    (void)state;
    expected_next = &greedy;
    open_setup(&last, pick("persistent:1", "persistent"));
    expected_next = NULL;
    assert_non_null(strstr(last.log, "is one dispatch"));
    assert_null(strstr(last.log, "(drawn)"));
    answer_prompt(&last, 0.0F, true, &answer);
    assert_null(strstr(last.log, "(drawn)"));
    answer_prompt(&last, 1.0F, true, &answer);
    assert_non_null(strstr(last.log, "(drawn)"));
    close_setup(&last);
}

// Attention spreads its keys over groups from 1,024 of these heads on; in memory is what a longer context left.
static void keys_that_become_many_change_no_token(void **state)
{
    static const size_t counts[] = {N_LONG, 2 * N_LONG - N_TOKENS, N_LONG};
    static int32_t prompt[2 * N_LONG];
    struct glinfer_generate_params params = draw_by(0.0F, 40, 0.95F);
    struct answer answers[2][3];
    (void)state;
    for (int i = 0; i < 2 * N_LONG; i++) {
        prompt[i] = 32 + i * i % 91;
    }
    params.prompt = prompt;
    for (int i = 0; i < 2; i++) {
        open_setup(&last, i == 0 ? "direct" : pick("persistent:1", "persistent"));
        for (int k = 0; k < 3; k++) {
            params.n_prompt = counts[k];
            answer_with(&last, params, &answers[i][k]);
        }
        close_setup(&last);
    }
    assert_non_null(strstr(last.log, "a chain of steps is one dispatch"));
    for (int k = 0; k < 3; k++) {
        assert_int_equal(answers[1][k].n, N_TOKENS);
        assert_memory_equal(answers[1][k].ids, answers[0][k].ids, sizeof(answers[0][k].ids));
    }
}

// A wait of no spins is a fault as soon as a chain begins.
static void a_fault_changes_no_token(void **state)
{
    (void)state;
    expect_same_tokens(&last, "persistent:1:128:0");
    assert_non_null(strstr(last.log, "a chain of steps is one dispatch"));
    assert_non_null(strstr(last.log, "given up"));
}

static void software_refuses_groups_that_wait_for_each_other(void **state)
{
    (void)state;
    if (!is_software()) {
        skip();
    }
    expect_same_tokens(&last, "persistent:2");
    assert_non_null(strstr(
        last.log, "a chain of steps cannot be one dispatch (greedy), and is replayed as many"));
}

static const char asked[] = "another process compiles", tried[] = "by ordinary dispatches",
                  taken[] = "a chain of steps is one dispatch";

static void what_is_compiled_elsewhere_changes_no_token(void **state)
{
    struct answer answer;
    (void)state;
    each_file("programs", remove_file);
    open_setup(&last, pick("background:1", "background"));
    answer_prompt(&last, 0.0F, true, &answer);
    answer_prompt(&last, 1.0F, true, &answer);
    answer_with(&last, draw_by(0.8F, 0, 0.9F), &answer);
    assert_int_equal(n_jobs, N_PERSISTENT_ENDS);
    assert_non_null(strstr(last.log, asked));
    assert_null(strstr(last.log, taken));
    close_setup(&last);
    compile_jobs();
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_null(strstr(last.log, asked));
    assert_non_null(strstr(last.log, tried));
    if (is_software()) { // where it is slower too
        assert_non_null(strstr(last.log, taken));
        assert_int_equal(each_file("persistent", keep_file), N_PERSISTENT_ENDS);
    }
}

static void an_answer_goes_over_to_what_comes_meanwhile(void **state)
{
    struct answer expected, first, second;
    (void)state;
    each_file("programs", remove_file);
    each_file("persistent", remove_file);
    open_setup(&last, "direct");
    answer_prompt(&last, 0.0F, true, &expected);
    close_setup(&last);
    open_setup(&last, pick("background:1", "background"));
    answer_prompt(&last, 0.0F, true, &first);
    assert_int_equal(n_jobs, 1);
    compile_jobs();
    const struct timespec pause = {.tv_nsec = 100000000};
    nanosleep(&pause, NULL);
    struct glinfer_stats stats = answer_prompt(&last, 0.0F, true, &second);
    close_setup(&last);
    assert_memory_equal(first.ids, expected.ids, sizeof(expected.ids));
    assert_memory_equal(second.ids, expected.ids, sizeof(expected.ids));
    assert_non_null(strstr(last.log, taken));
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_PERSISTENT);
}

static void what_is_no_job_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "glinfer",
        "glinfer 0.0.1 compiles, capability 0, key 0123456789abcdef0123456789abcdef\nvoid main() "
        "{}",
        "\n\n\n",
    };
    struct glinfer_error err;
    (void)state;
    open_setup(&last, "direct");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(glinfer_device_compile(last.device, texts[i], strlen(texts[i]), &err));
        assert_int_equal(err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    }
    close_setup(&last);
}

// What a driver refuses twice is not asked for again.
static void a_job_that_does_not_compile_becomes_a_verdict(void **state)
{
    struct glinfer_error err;
    struct answer answer;
    (void)state;
    each_file("programs", remove_file);
    each_file("persistent", remove_file);
    open_setup(&last, pick("background:1", "background"));
    answer_prompt(&last, 0.0F, true, &answer);
    assert_int_equal(n_jobs, 1);
    memset((char *)jobs[0].data + jobs[0].size - 40, '!', 40);
    for (int n_refused = 0; n_refused < 2; n_refused++) {
        assert_int_equal(each_file("persistent", keep_file), 0);
        assert_false(glinfer_device_compile(last.device, jobs[0].data, jobs[0].size, &err));
        assert_int_equal(err.status, GLINFER_STATUS_DRIVER);
    }
    free(jobs[--n_jobs].data);
    close_setup(&last);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_non_null(strstr(last.log, "the driver does not compile it"));
    assert_int_equal(n_jobs, 2); // of drawn tokens
    free(jobs[--n_jobs].data);
    free(jobs[--n_jobs].data);
    each_file("persistent", remove_file);
}

// A lock that processes left behind which began to compile the first job so many times.
static void leave_lock(int n_begun, char path[256])
{
    const char *digits = strstr(jobs[0].data, " compiles ");
    assert_non_null(digits);
    snprintf(path, 256, "%s/persistent", cache);
    mkdir(path, 0700);
    snprintf(path, 256, "%s/persistent/.%.32s", cache, digits + strlen(" compiles "));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s", n_begun, "+++");
    fclose(file);
}

// A driver that crashes in its compiler is not made to at every start.
static void a_compiler_that_ends_its_process_is_given_up(void **state)
{
    struct glinfer_error err;
    struct answer answer;
    char lock[256];
    (void)state;
    each_file("programs", remove_file);
    each_file("persistent", remove_file);
    open_setup(&last, pick("background:1", "background"));
    answer_prompt(&last, 0.0F, true, &answer);
    assert_int_equal(n_jobs, 1);
    leave_lock(3, lock);
    assert_false(glinfer_device_compile(last.device, jobs[0].data, jobs[0].size, &err));
    assert_int_equal(err.status, GLINFER_STATUS_DRIVER);
    assert_int_equal(each_file("persistent", keep_file), 1); // refused
    assert_int_equal(access(lock, F_OK), -1);
    each_file("persistent", remove_file);
    leave_lock(2, lock);
    must(glinfer_device_compile(last.device, jobs[0].data, jobs[0].size, &err), &err);
    assert_int_equal(each_file("persistent", keep_file), 0);
    assert_int_equal(access(lock, F_OK), -1);
    free(jobs[--n_jobs].data);
    close_setup(&last);
}

static void preparing_chooses_before_the_first_answer(void **state)
{
    struct glinfer_generate_params params;
    struct glinfer_prepared prepared = {.struct_size = sizeof(prepared)};
    struct glinfer_error err;
    struct answer answer;
    (void)state;
    open_setup(&last, pick("background:1", "background"));
    for (int i = 0; i < N_PERSISTENT_ENDS; i++) {
        params = i == 0 ? draw_by(0.0F, 40, 0.95F) : draw_by(1.0F, i == 1 ? 40 : 0, 0.9F);
        must(glinfer_session_prepare(last.session, &params, &prepared, &err), &err);
        assert_int_equal(prepared.dispatch, GLINFER_DISPATCH_PERSISTENT);
        assert_true(prepared.ordinary_ns > 0 && prepared.persistent_ns > 0);
    }
    const struct glinfer_stats stats = answer_prompt(&last, 0.0F, true, &answer);
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_PERSISTENT);
    close_setup(&last);
    assert_int_equal(each_file("persistent", keep_file), N_PERSISTENT_ENDS);
}

static void what_was_found_is_neither_compiled_nor_tried_again(void **state)
{
    (void)state;
    assert_true(each_file("persistent", keep_file) > 0);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_non_null(strstr(last.log, taken));
    assert_null(strstr(last.log, asked));
    assert_null(strstr(last.log, tried));
}

// It is no reason to try nothing any more, but one to try first.
static void a_fault_takes_the_verdict_back(void **state)
{
    (void)state;
    if (!is_software()) {
        skip();
    }
    assert_int_equal(each_file("persistent", keep_file), N_PERSISTENT_ENDS);
    expect_same_tokens(&last, "background:1:128:0");
    assert_non_null(strstr(last.log, taken));
    assert_non_null(strstr(last.log, "given up"));
    assert_int_equal(each_file("persistent", keep_file), N_PERSISTENT_ENDS - 1);
}

static void a_verdict_that_is_damaged_is_found_anew(void **state)
{
    struct answer answer;
    (void)state;
    each_file("persistent", cut_short);
    open_setup(&last, pick("background:1", "background"));
    answer_prompt(&last, 0.0F, true, &answer);
    answer_prompt(&last, 1.0F, true, &answer);
    answer_with(&last, draw_by(0.8F, 0, 0.9F), &answer);
    assert_null(strstr(last.log, asked)); // its program is there
    assert_non_null(strstr(last.log, tried));
    assert_non_null(strstr(last.log, taken));
    close_setup(&last);
}

static void what_was_wrong_is_not_taken_again(void **state)
{
    (void)state;
    each_file("persistent", make_wrong);
    expect_same_tokens(&last, pick("background:1", "background"));
    assert_non_null(strstr(last.log, "its tokens are not the ordinary ones"));
    assert_null(strstr(last.log, asked));
    assert_null(strstr(last.log, taken));
}

// It would be neither right nor fast, and nobody has asked for it.
static void software_is_left_alone(void **state)
{
    struct glinfer_generate_params params;
    struct glinfer_prepared prepared = {.struct_size = sizeof(prepared)};
    struct glinfer_error err;
    struct answer answer;
    (void)state;
    if (!is_software()) {
        skip();
    }
    glinfer_generate_params_init(&params);
    open_setup(&last, NULL);
    must(glinfer_session_prepare(last.session, &params, &prepared, &err), &err);
    assert_int_equal(prepared.dispatch, GLINFER_DISPATCH_DIRECT);
    const struct glinfer_stats stats = answer_prompt(&last, 0.0F, true, &answer);
    assert_int_equal(stats.dispatch, GLINFER_DISPATCH_DIRECT);
    close_setup(&last);
    assert_null(strstr(last.log, "one dispatch"));
}

static int make_cache(void **state)
{
    (void)state;
    snprintf(cache, sizeof(cache), "/tmp/one_dispatch_test.XXXXXX");
    return mkdtemp(cache) ? 0 : -1;
}

static int remove_cache(void **state)
{
    static const char *const parts[] = {"programs", "persistent"};
    char folder[128];
    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        each_file(parts[i], remove_file);
        snprintf(folder, sizeof(folder), "%s/%s", cache, parts[i]);
        rmdir(folder);
    }
    return rmdir(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_dispatch_gives_the_tokens_of_many),
        cmocka_unit_test(keys_that_become_many_change_no_token),
        cmocka_unit_test(what_is_expected_comes_first),
        cmocka_unit_test(a_fault_changes_no_token),
        cmocka_unit_test(software_refuses_groups_that_wait_for_each_other),
        cmocka_unit_test(what_is_compiled_elsewhere_changes_no_token),
        cmocka_unit_test(an_answer_goes_over_to_what_comes_meanwhile),
        cmocka_unit_test(what_is_no_job_is_refused),
        cmocka_unit_test(a_job_that_does_not_compile_becomes_a_verdict),
        cmocka_unit_test(a_compiler_that_ends_its_process_is_given_up),
        cmocka_unit_test(preparing_chooses_before_the_first_answer),
        cmocka_unit_test(what_was_found_is_neither_compiled_nor_tried_again),
        cmocka_unit_test(a_fault_takes_the_verdict_back),
        cmocka_unit_test(a_verdict_that_is_damaged_is_found_anew),
        cmocka_unit_test(what_was_wrong_is_not_taken_again),
        cmocka_unit_test(software_is_left_alone),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
