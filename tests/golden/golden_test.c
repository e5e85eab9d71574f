// golden_test MODEL GOLDEN [--cache f16|f32|q8_0|q4_0] [--precision f32|f16] [--chain N]
//     [--steps N] [--longest N] [--tolerance X] [--case NAME] [--device NAME] [--probs N]
//     [--log TEXT]
//
// MODEL is a path or, without a slash, the name of a model that tools/fetch-model keeps.
// Runs every case of a golden file (tools/golden/golden.py describes the format) through glinfer.h
// and compares: the most likely token equals the reference's wherever its margin is over 0.02 nat,
// and the log-probabilities of the reference's top ten differ by at most 0.02 with an f16 cache,
// 0.002 with f32; with products in f16 the margin is 0.1 and so is the difference; with q8_0, whose
// keys and values are off by up to 0.4 %, 0.1 and 0.3; with q4_0, where they are off by up to 12 %
// and the tiny models' weights are random, 1.3 and 2.5, which a cache of other contents misses.
// --longest leaves out cases with prompts of more tokens, but where GLINFER_TEST_ALL is set.
// --probs 0 compares tokens alone, as they come from steps that end without log-probabilities.
// --log fails unless a message of the library holds TEXT: that what was asked for has happened. A
// case ends early where both engines choose differently within the margin. Exits 77 without a model
// or a device.
#include "glinfer.h"
#include "tests/data/test_data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 256, MAX_PROMPT = 8192, TOP = 10, N_PROBS = 64, SKIPPED = 77 };

// coarse_margin is for a q4_0 cache, rough_margin for f16 products and a q8_0 cache.
static const double exact_margin = 0.02, rough_margin = 0.1, coarse_margin = 1.3;

struct step {
    int32_t taken;
    struct glinfer_prob top[TOP];
    int n_top;
};

struct golden_case {
    char name[64];
    int32_t prompt[MAX_PROMPT];
    size_t n_prompt;
    struct step steps[MAX_STEPS];
    size_t n_steps;
};

struct options {
    const char *model, *golden, *only, *device;
    enum glinfer_cache_type cache;
    bool is_half; // products in f16, where the device has them
    uint32_t chain;
    uint32_t steps; // of a case at most
    size_t longest; // prompt that is run, 0: any
    double tolerance;
    uint32_t n_probs;
    const char *logged;
    bool was_logged, was_left_out;
};

//-- the file --------------------------------------------------------------------------------------

static void read_prompt(struct golden_case *golden, char *words)
{
    char *next;
    golden->n_prompt = 0;
    for (char *at = words; golden->n_prompt < MAX_PROMPT; at = next) {
        const long id = strtol(at, &next, 10);
        if (next == at) {
            return;
        }
        golden->prompt[golden->n_prompt++] = (int32_t)id;
    }
}

static void read_step(struct golden_case *golden, char *words)
{
    if (golden->n_steps == MAX_STEPS) {
        return;
    }
    struct step *step = &golden->steps[golden->n_steps++];
    char *next;
    step->n_top = 0;
    step->taken = (int32_t)strtol(words, &words, 10);
    for (char *at = words; step->n_top < TOP;) {
        const long id = strtol(at, &next, 10);
        if (next == at) {
            return;
        }
        step->top[step->n_top].id = (int32_t)id;
        step->top[step->n_top++].logprob = strtof(next, &at);
    }
}

// Reads the next case; false at the end of the file. *line holds the line that begins the one after
// it.
static bool read_case(FILE *file, char **line, size_t *capacity, struct golden_case *golden)
{
    bool has_case = false;
    golden->n_steps = 0;
    for (;;) {
        if (**line == 0 && getline(line, capacity, file) < 0) {
            return has_case;
        }
        if (strncmp(*line, "case ", 5) == 0) {
            if (has_case) {
                return true;
            }
            has_case = true;
            sscanf(*line, "case %63s", golden->name);
        } else if (strncmp(*line, "prompt ", 7) == 0) {
            read_prompt(golden, *line + 7);
        } else if (strncmp(*line, "step ", 5) == 0) {
            read_step(golden, *line + 5);
        }
        **line = 0;
    }
}

//-- the comparison --------------------------------------------------------------------------------

struct comparison {
    const struct golden_case *golden;
    double tolerance, margin;
    size_t step;
    double worst; // difference of a log-probability
    bool has_failed, has_parted;
};

static double find_logprob(const struct glinfer_token *token, int32_t id)
{
    for (uint32_t i = 0; i < token->n_probs; i++) {
        if (token->probs[i].id == id) {
            return (double)token->probs[i].logprob;
        }
    }
    return -INFINITY;
}

static void compare_top(struct comparison *comparison, const struct step *step,
                        const struct glinfer_token *token)
{
    for (int i = 0; i < step->n_top; i++) {
        const double ours = find_logprob(token, step->top[i].id);
        const double difference = fabs(ours - (double)step->top[i].logprob);
        comparison->worst = difference > comparison->worst ? difference : comparison->worst;
        if (!(difference <= comparison->tolerance) && !comparison->has_failed) {
            printf("  %s step %zu: token %d has log-probability %.5f, expected %.5f\n",
                   comparison->golden->name, comparison->step, step->top[i].id, ours,
                   (double)step->top[i].logprob);
            comparison->has_failed = true;
        }
    }
}

// By how much the reference preferred what it took to id; 0 where it tells no log-probabilities.
static double find_margin(const struct step *step, int32_t id)
{
    double taken = 0.0, other = step->n_top ? -INFINITY : 0.0;
    for (int i = 0; i < step->n_top; i++) {
        if (step->top[i].id == step->taken) {
            taken = (double)step->top[i].logprob;
        }
        if (step->top[i].id == id) {
            other = (double)step->top[i].logprob;
        }
    }
    return taken - other;
}

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct comparison *comparison = user;
    if (token->id < 0) {
        return true;
    }
    const struct step *step = &comparison->golden->steps[comparison->step];
    if (token->n_probs > 0) {
        compare_top(comparison, step, token);
    }
    if (token->id != step->taken) {
        const double margin = find_margin(step, token->id);
        if (margin > comparison->margin) {
            printf("  %s step %zu: token %d, expected %d by a margin of %.4f\n",
                   comparison->golden->name, comparison->step, token->id, step->taken, margin);
            comparison->has_failed = true;
        }
        comparison->has_parted = true;
        return false;
    }
    comparison->step++;
    return !comparison->has_failed;
}

static bool run_case(struct glinfer_session *session, const struct golden_case *golden,
                     uint32_t n_probs, double tolerance, double margin)
{
    struct comparison comparison = {.golden = golden, .tolerance = tolerance, .margin = margin};
    struct glinfer_generate_params params;
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err;
    glinfer_generate_params_init(&params);
    params.prompt = golden->prompt;
    params.n_prompt = golden->n_prompt;
    params.n_predict = (int32_t)golden->n_steps;
    params.ignore_eos = true;
    params.n_probs = n_probs;
    params.on_token = on_token;
    params.token_user = &comparison;
    glinfer_session_reset(session);
    if (!glinfer_generate(session, &params, &stats, &err)) {
        printf("FAILED %s: %s\n", golden->name, err.message);
        return false;
    }
    const bool ok =
        !comparison.has_failed && (comparison.has_parted || comparison.step == golden->n_steps);
    printf("%s %s: %zu prompt tokens, %zu of %zu steps%s, worst difference %.5f, %.0f ms + %.1f "
           "ms a token\n",
           ok ? "ok" : "FAILED", golden->name, golden->n_prompt, comparison.step, golden->n_steps,
           comparison.has_parted ? " (parted)" : "", comparison.worst, stats.prompt_ms,
           stats.predicted_ms / (stats.predicted_n > 1 ? stats.predicted_n - 1 : 1));
    fflush(stdout);
    return ok;
}

//-- the program -----------------------------------------------------------------------------------

static double usual_tolerance(const struct options *options)
{
    const double exact = options->cache == GLINFER_CACHE_F32 ? 0.002 : 0.02;
    return options->cache == GLINFER_CACHE_Q4_0   ? 2.5
           : options->cache == GLINFER_CACHE_Q8_0 ? 0.3
           : options->is_half                     ? 0.1
                                                  : exact;
}

static int run_cases(struct glinfer_session *session, const struct options *options)
{
    const bool is_rough = options->is_half || options->cache == GLINFER_CACHE_Q8_0;
    const double margin = options->cache == GLINFER_CACHE_Q4_0 ? coarse_margin
                          : is_rough                           ? rough_margin
                                                               : exact_margin;
    const double tolerance = options->tolerance > 0 ? options->tolerance : usual_tolerance(options);
    struct golden_case *golden = calloc(1, sizeof(*golden));
    size_t capacity = 1; // of line, so that getline takes it
    char *line = calloc(1, 1);
    FILE *file = fopen(options->golden, "r");
    int n_passed = 0, n_failed = 0;
    const bool is_open = file && golden && line;
    if (!is_open) {
        printf("cannot read %s: %s\n", options->golden, strerror(errno));
    }
    while (is_open && read_case(file, &line, &capacity, golden)) {
        if (options->only && strcmp(options->only, golden->name) != 0) {
            continue;
        }
        if (options->longest && golden->n_prompt > options->longest) {
            printf("%s is left out: its prompt has %zu tokens\n", golden->name, golden->n_prompt);
            continue;
        }
        if (options->steps && golden->n_steps > options->steps) {
            golden->n_steps = options->steps;
        }
        *(run_case(session, golden, options->n_probs, tolerance, margin) ? &n_passed : &n_failed) +=
            1;
    }
    if (file) {
        fclose(file);
    }
    free(line);
    free(golden);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed > 0 || n_passed == 0;
}

static int run_model(struct glinfer_device *device, const struct options *options)
{
    struct glinfer_error err;
    struct glinfer_model_params model_params;
    struct glinfer_session_params session_params;
    glinfer_model_params_init(&model_params);
    glinfer_session_params_init(&session_params);
    model_params.path = options->model;
    session_params.n_ctx = 2048;
    session_params.type_k = session_params.type_v = options->cache;
    session_params.chain_length = options->chain;
    session_params.precision = options->is_half ? GLINFER_PRECISION_F16 : GLINFER_PRECISION_F32;
    int status = 1;
    struct glinfer_model *model = glinfer_model_load(device, &model_params, &err);
    struct glinfer_session *session =
        model ? glinfer_session_create(model, &session_params, &err) : NULL;
    if (session) {
        status = run_cases(session, options);
    } else {
        printf("%s\n", err.message);
        status = err.status == GLINFER_STATUS_NOT_FOUND ? SKIPPED : 1;
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    return status;
}

static bool read_options(struct options *options, int argc, char **argv)
{
    if (argc < 3) {
        return false;
    }
    options->model = strchr(argv[1], '/') ? argv[1] : test_model(argv[1]);
    options->golden = argv[2];
    for (int i = 3; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--cache") == 0) {
            options->cache = strcmp(argv[i + 1], "f32") == 0    ? GLINFER_CACHE_F32
                             : strcmp(argv[i + 1], "q8_0") == 0 ? GLINFER_CACHE_Q8_0
                             : strcmp(argv[i + 1], "q4_0") == 0 ? GLINFER_CACHE_Q4_0
                                                                : GLINFER_CACHE_F16;
        } else if (strcmp(argv[i], "--precision") == 0) {
            options->is_half = strcmp(argv[i + 1], "f16") == 0;
        } else if (strcmp(argv[i], "--chain") == 0) {
            options->chain = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--tolerance") == 0) {
            options->tolerance = strtod(argv[i + 1], NULL);
        } else if (strcmp(argv[i], "--steps") == 0) {
            options->steps = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--longest") == 0) {
            options->longest = getenv("GLINFER_TEST_ALL") ? 0 : strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--case") == 0) {
            options->only = argv[i + 1];
        } else if (strcmp(argv[i], "--probs") == 0) {
            options->n_probs = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--log") == 0) {
            options->logged = argv[i + 1];
        } else if (strcmp(argv[i], "--device") == 0) {
            options->device = argv[i + 1];
        } else {
            return false;
        }
    }
    return true;
}

static void look_for(void *user, enum glinfer_log_level level, const char *message)
{
    struct options *options = user;
    options->was_left_out |= strstr(message, "it is left out") != NULL;
    options->was_logged |= options->logged && strstr(message, options->logged);
    if (options->logged && level <= GLINFER_LOG_INFO) {
        printf("log: %s\n", message);
    }
}

int main(int argc, char **argv)
{
    struct options options = {.n_probs = N_PROBS};
    struct glinfer_device_params params;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    struct glinfer_error err;
    if (!read_options(&options, argc, argv)) {
        printf("usage: golden_test MODEL GOLDEN [--cache f16|f32|q8_0|q4_0] [--precision f32|f16] "
               "[--chain "
               "N] [--steps N] [--longest N] "
               "[--tolerance X] "
               "[--case NAME] [--device NAME] [--probs N] [--log TEXT]\n");
        return 2;
    }
    glinfer_device_params_init(&params);
    params.allow_software = true;
    params.device = options.device;
    params.log = look_for;
    params.log_user = &options;
    struct glinfer_device *device = glinfer_device_create(&params, &err);
    if (!device) {
        printf("skipped: %s\n", err.message);
        return SKIPPED;
    }
    glinfer_device_describe(device, &info);
    printf("on %s\n", info.renderer);
    int status = run_model(device, &options);
    if (status == 0 && options.logged && !options.was_logged) {
        printf("FAILED: nothing was said of \"%s\"\n", options.logged);
        status = 1;
    }
    if (status == 0 && options.was_left_out) {
        printf("FAILED: the self-test found a kernel to be wrong\n");
        status = 1;
    }
    glinfer_device_destroy(&device);
    return status;
}
