#include "golden/dispatch_fixture.h"

#include "unit/cmocka_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MODELS
#error "MODELS: the folder of the tiny models"
#endif

enum { SKIPPED = 77 };

char cache[64];
struct job jobs[N_PERSISTENT_ENDS];
int n_jobs;

//-- sessions --------------------------------------------------------------------------------------

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

void must(bool ok, const struct glinfer_error *err)
{
    if (!ok) {
        fail_msg("%s", err->message);
    }
}

void open_expecting(struct setup *setup, const char *mode,
                    const struct glinfer_generate_params *expected)
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
    session.expected = expected;
    setup->session = glinfer_session_create(setup->model, &session, &err);
    must(setup->session != NULL, &err);
}

void open_setup(struct setup *setup, const char *mode)
{
    open_expecting(setup, mode, NULL);
}

void close_setup(struct setup *setup)
{
    glinfer_session_destroy(&setup->session);
    glinfer_model_destroy(&setup->model);
    glinfer_device_destroy(&setup->device);
}

bool is_software(void)
{
    static struct setup setup;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    open_setup(&setup, "direct");
    glinfer_device_describe(setup.device, &info);
    close_setup(&setup);
    return info.is_software;
}

const char *pick(const char *on_software, const char *on_hardware)
{
    return is_software() ? on_software : on_hardware;
}

void compile_jobs(void)
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

//-- answers ---------------------------------------------------------------------------------------

struct glinfer_stats answer_with(struct setup *setup, struct glinfer_generate_params params,
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

struct glinfer_generate_params draw_by(float temperature, uint32_t top_k, float top_p)
{
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.ignore_eos = true;
    params.temperature = temperature;
    params.top_k = top_k;
    params.top_p = top_p;
    return params;
}

struct glinfer_stats answer_prompt(struct setup *setup, float temperature, bool ignore_eos,
                                   struct answer *answer)
{
    struct glinfer_generate_params params = draw_by(temperature, 40, 0.95F);
    params.ignore_eos = ignore_eos;
    return answer_with(setup, params, answer);
}

enum { N_ANSWERS = 9 };

void expect_same_tokens(struct setup *setup, const char *mode)
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
        for (uint32_t k = 1; k <= 3; k++) { // behind stages that leave shared memory as they like
            stats[i][5 + k] = answer_with(setup, draw_by(1.0F, k, 1.0F), &answers[5 + k]);
        }
        close_setup(setup);
    }
    for (int i = 0; i < N_ANSWERS; i++) {
        assert_int_equal(found[i].n, expected[i].n);
        assert_memory_equal(found[i].ids, expected[i].ids, sizeof(found[i].ids));
        assert_int_equal(stats[1][i].stop, stats[0][i].stop);
        assert_int_equal(stats[1][i].n_past, stats[0][i].n_past);
    }
}

//-- what is kept on disk --------------------------------------------------------------------------

int each_file(const char *part, file_fn visit)
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

static void leave_file(const char *path)
{
    (void)path;
}

int count_files(const char *part)
{
    return each_file(part, leave_file);
}

void remove_file(const char *path)
{
    unlink(path);
}

int make_cache(void **state)
{
    (void)state;
    snprintf(cache, sizeof(cache), "/tmp/dispatch_test.XXXXXX");
    return mkdtemp(cache) ? 0 : -1;
}

int remove_cache(void **state)
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
