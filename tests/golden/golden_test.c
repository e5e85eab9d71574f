// golden_test RUN [-- RUN]...
// RUN: MODEL GOLDEN [NAME=value]... [--cache f16|f32|q8_0|q4_0] [--precision f32|f16] [--chain N]
//     [--steps N] [--longest N] [--tolerance X] [--case NAME] [--probs N] [--log TEXT] [--more yes]
//     [--brief yes] [--lora SCALE:FILE]...
//
// MODEL is a path or, without a slash, the name of a model that tools/fetch-model keeps.
// Runs every case of a golden file (tools/golden/golden.py describes the format) through glinfer.h
// on a device that is created in this environment: the most likely token equals the reference's
// wherever its margin is over a limit, and the log-probabilities of the reference's top ten differ
// by at most a tolerance. Both depend on the cache and on the precision of products.
// --longest leaves out cases with prompts of more tokens, --brief those of more than 50 and a
// case's steps after the eighth, and --more the run, but where GLINFER_TEST_ALL is set. --probs 0
// compares tokens alone, as they come from steps that end without log-probabilities. --log fails
// unless a message of the library holds TEXT: that what was asked for has happened. --lora loads an
// adapter, which is switched off until the session sets its scale. A case ends early where both
// engines choose differently within the margin. Exits 77 without a device, or without the models of
// all runs.
#include "glinfer.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 256, MAX_PROMPT = 8192, TOP = 10, N_PROBS = 64, MAX_LORA = 4, SKIPPED = 77 };

// In nat. The keys and values of q8_0 are off by up to 0.4 %; those of q4_0 by up to 12 %, and the
// tiny models' weights are random, but a cache of other contents misses these limits too.
static const struct {
    const char *name;
    double margin, tolerance;
} caches[] = {
    [GLINFER_CACHE_F16] = {"f16", 0.02, 0.02},
    [GLINFER_CACHE_F32] = {"f32", 0.02, 0.002},
    [GLINFER_CACHE_Q8_0] = {"q8_0", 0.1, 0.3},
    [GLINFER_CACHE_Q4_0] = {"q4_0", 1.3, 2.5},
};
static const double half_margin = 0.1, half_tolerance = 0.1; // of products in f16

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
    const char *model, *golden, *only;
    enum glinfer_cache_type cache;
    bool is_half; // products in f16, where the device has them
    uint32_t chain;
    uint32_t steps; // of a case at most
    size_t longest; // prompt that is run, 0: any
    double margin, tolerance;
    uint32_t n_probs;
    const char *logged;
    struct glinfer_source lora[MAX_LORA];
    float lora_scales[MAX_LORA];
    uint32_t n_lora;
};

// Holds what the library has said since the run began.
static struct {
    const char *logged;
    bool was_logged, was_left_out;
} heard;

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
                     const struct options *options)
{
    struct comparison comparison = {
        .golden = golden, .tolerance = options->tolerance, .margin = options->margin};
    struct glinfer_generate_params params;
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err;
    glinfer_generate_params_init(&params);
    params.prompt = golden->prompt;
    params.n_prompt = golden->n_prompt;
    params.n_predict = (int32_t)golden->n_steps;
    params.ignore_eos = true;
    params.n_probs = options->n_probs;
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

static bool run_cases(struct glinfer_session *session, const struct options *options)
{
    static struct golden_case golden;
    size_t capacity = 1; // of line, so that getline takes it
    char *line = calloc(1, 1);
    FILE *file = fopen(options->golden, "r");
    int n_passed = 0, n_failed = 0;
    if (!file) {
        printf("cannot read %s: %s\n", options->golden, strerror(errno));
    }
    while (file && line && read_case(file, &line, &capacity, &golden)) {
        if (options->only && strcmp(options->only, golden.name) != 0) {
            continue;
        }
        if (options->longest && golden.n_prompt > options->longest) {
            printf("%s is left out: its prompt has %zu tokens\n", golden.name, golden.n_prompt);
            continue;
        }
        if (options->steps && golden.n_steps > options->steps) {
            golden.n_steps = options->steps;
        }
        *(run_case(session, &golden, options) ? &n_passed : &n_failed) += 1;
    }
    if (file) {
        fclose(file);
    }
    free(line);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed == 0 && n_passed > 0;
}

static int run_model(struct glinfer_device *device, const struct options *options)
{
    struct glinfer_error err;
    struct glinfer_model_params model_params;
    struct glinfer_session_params params;
    glinfer_model_params_init(&model_params);
    glinfer_session_params_init(&params);
    const struct glinfer_source *adapters[MAX_LORA];
    const float off[MAX_LORA] = {0};
    for (uint32_t i = 0; i < options->n_lora; i++) {
        adapters[i] = &options->lora[i];
    }
    model_params.adapters = adapters;
    model_params.n_adapters = options->n_lora;
    model_params.adapter_scales = off;
    model_params.path = options->model;
    params.n_ctx = 2048;
    params.type_k = params.type_v = options->cache;
    params.chain_length = options->chain;
    params.precision = options->is_half ? GLINFER_PRECISION_F16 : GLINFER_PRECISION_F32;
    struct glinfer_model *model = glinfer_model_load(device, &model_params, &err);
    struct glinfer_session *session = model ? glinfer_session_create(model, &params, &err) : NULL;
    int status = EXIT_FAILURE;
    if (!session) {
        printf("%s\n", err.message);
        status = err.status == GLINFER_STATUS_NOT_FOUND ? SKIPPED : EXIT_FAILURE;
    } else if (!glinfer_session_set_adapter_scales(session, options->lora_scales, options->n_lora,
                                                   &err)) {
        printf("%s\n", err.message);
    } else if (run_cases(session, options)) {
        status = EXIT_SUCCESS;
    }
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    return status;
}

static bool read_option(struct options *options, const char *name, const char *value)
{
    const unsigned long number = strtoul(value, NULL, 10);
    if (strcmp(name, "--cache") == 0) {
        while (strcmp(caches[options->cache].name, value) != 0) {
            if (++options->cache > GLINFER_CACHE_Q4_0) {
                return false;
            }
        }
    } else if (strcmp(name, "--precision") == 0) {
        options->is_half = strcmp(value, "f16") == 0;
    } else if (strcmp(name, "--chain") == 0) {
        options->chain = (uint32_t)number;
    } else if (strcmp(name, "--tolerance") == 0) {
        options->tolerance = strtod(value, NULL);
    } else if (strcmp(name, "--steps") == 0) {
        options->steps = (uint32_t)number;
    } else if (strcmp(name, "--longest") == 0) {
        options->longest = getenv("GLINFER_TEST_ALL") ? 0 : number;
    } else if (strcmp(name, "--brief") == 0) {
        options->longest = getenv("GLINFER_TEST_ALL") ? 0 : 50;
        options->steps = getenv("GLINFER_TEST_ALL") ? options->steps : 8;
    } else if (strcmp(name, "--case") == 0) {
        options->only = value;
    } else if (strcmp(name, "--probs") == 0) {
        options->n_probs = (uint32_t)number;
    } else if (strcmp(name, "--log") == 0) {
        options->logged = value;
    } else if (strcmp(name, "--lora") == 0 && options->n_lora < MAX_LORA && strchr(value, ':')) {
        struct glinfer_source *lora = &options->lora[options->n_lora];
        options->lora_scales[options->n_lora++] = strtof(value, NULL);
        glinfer_source_init(lora);
        lora->path = strchr(value, ':') + 1;
    } else {
        return false;
    }
    return true;
}

static void listen(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user;
    heard.was_left_out |= strstr(message, "it is left out") != NULL;
    heard.was_logged |= heard.logged && strstr(message, heard.logged);
    if (heard.logged && level <= GLINFER_LOG_INFO) {
        printf("log: %s\n", message);
    }
}

static int run(const struct run *run, struct glinfer_device **device)
{
    struct options options = {.n_probs = N_PROBS};
    bool ok = run->n_words >= 2 && run->n_words % 2 == 0;
    for (int i = 2; ok && i < run->n_words; i += 2) {
        ok = read_option(&options, run->words[i], run->words[i + 1]);
    }
    if (!ok) {
        printf(
            "golden_test: a run has wrong words; the head of golden_test.c has the right ones\n");
        return EXIT_FAILURE;
    }
    const bool is_rough = options.is_half && caches[options.cache].margin < half_margin;
    options.margin = is_rough ? half_margin : caches[options.cache].margin;
    if (options.tolerance == 0) {
        options.tolerance = is_rough ? half_tolerance : caches[options.cache].tolerance;
    }
    options.model = strchr(run->words[0], '/') ? run->words[0] : test_model(run->words[0]);
    options.golden = run->words[1];
    heard.logged = options.logged;
    heard.was_logged = heard.was_left_out = false;
    if (!*device && !(*device = create_device(listen))) {
        return SKIPPED;
    }
    int status = run_model(*device, &options);
    if (status == EXIT_SUCCESS && options.logged && !heard.was_logged) {
        printf("FAILED: nothing was said of \"%s\"\n", options.logged);
        status = EXIT_FAILURE;
    }
    if (status == EXIT_SUCCESS && heard.was_left_out) {
        printf("FAILED: the self-test found a kernel to be wrong\n");
        status = EXIT_FAILURE;
    }
    return status;
}

int main(int n_arg, char **args)
{
    return run_all(n_arg, args, run);
}
