// embedding_test RUN [-- RUN]...
// RUN: MODEL GOLDEN [NAME=value]... [--cache f32] [--batch N] [--precision f16] [--brief yes]
// [--more yes]
//
// Runs every case of a golden file (tools/golden/embedding_golden.py describes the format) through
// glinfer.h: the cosine with the reference is at least 0.9999, for every token's vector without
// pooling, and 0.999999 with an f32 cache; lengths agree within 0.5 %, scores within 0.005. --brief
// leaves out texts of more than 50 tokens, but where GLINFER_TEST_ALL is set. Also tests the
// contract of the call: a measured size, a length of 1, refusals. Exits 77 without a device.
#include "tests/golden/fixture/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 1024, MAX_LINE = 1 << 22, SKIPPED = 77 };

struct options {
    const char *golden;
    struct glinfer_session_params session;
    double least_cosine;
    size_t longest; // text that is run, 0: any
};

struct golden_case {
    enum glinfer_pooling pooling;
    int32_t ids[MAX_TOKENS];
    size_t n;
};

static const char *const poolings[] = {"default", "none", "mean", "cls", "last", "rank"};

static bool fail(const char *what, double found, double expected)
{
    fprintf(stderr, "%s: %.9g, expected %.9g\n", what, found, expected);
    return false;
}

//-- comparing -------------------------------------------------------------------------------------

// Compares n values; a pair of scores by their difference.
static bool compare(const struct options *options, const float *found, const double *wanted,
                    size_t n)
{
    double product = 0, found_squares = 0, wanted_squares = 0;
    for (size_t i = 0; i < n; i++) {
        product += (double)found[i] * wanted[i];
        found_squares += (double)found[i] * (double)found[i];
        wanted_squares += wanted[i] * wanted[i];
        if (n <= 4 && fabs((double)found[i] - wanted[i]) > 0.005 * fmax(1, fabs(wanted[i]))) {
            return fail("score", (double)found[i], wanted[i]);
        }
    }
    if (n <= 4) {
        return true;
    }
    const double cosine = product / sqrt(found_squares * wanted_squares);
    const double ratio = sqrt(found_squares / wanted_squares);
    if (!(cosine >= options->least_cosine)) {
        return fail("cosine", cosine, options->least_cosine);
    }
    return (ratio > 0.995 && ratio < 1.005) || fail("ratio of lengths", ratio, 1);
}

static bool embed(struct glinfer_session *session, const struct golden_case *golden, bool is_raw,
                  float *values, size_t cap, size_t *n)
{
    struct glinfer_embed_params params;
    struct glinfer_error err = {0};
    glinfer_embed_params_init(&params);
    params.pooling = golden->pooling;
    params.is_raw = is_raw;
    return glinfer_embed(session, golden->ids, golden->n, &params, values, cap, n, &err) ||
           (fprintf(stderr, "%s\n", err.message), false);
}

static bool check_length(struct glinfer_session *session, const struct golden_case *golden,
                         float *values, size_t cap)
{
    size_t n = 0;
    double squares = 0;
    if (golden->pooling == GLINFER_POOLING_NONE || golden->pooling == GLINFER_POOLING_RANK) {
        return true;
    }
    if (!embed(session, golden, false, values, cap, &n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        squares += (double)values[i] * (double)values[i];
    }
    return fabs(squares - 1) < 1e-5 || fail("squares of a scaled embedding", squares, 1);
}

static bool check_case(const struct options *options, struct glinfer_session *session,
                       const struct golden_case *golden, const double *wanted, size_t n_wanted)
{
    size_t n = 0;
    float *values = calloc(n_wanted, sizeof(*values));
    bool ok = values && embed(session, golden, true, NULL, 0, &n);
    if (ok && n != n_wanted) {
        ok = fail("numbers of an embedding", (double)n, (double)n_wanted);
    }
    ok = ok && embed(session, golden, true, values, n, &n);
    const size_t n_rows = golden->pooling == GLINFER_POOLING_NONE ? golden->n : 1;
    for (size_t i = 0; ok && i < n_rows; i++) {
        const size_t width = n / n_rows;
        ok = compare(options, values + i * width, wanted + i * width, width);
    }
    ok = ok && check_length(session, golden, values, n);
    free(values);
    return ok;
}

static bool check_refusals(struct glinfer_session *session)
{
    const int32_t ids[] = {1, 2}, wrong[] = {1, 1 << 24};
    struct glinfer_embed_params params;
    struct glinfer_error err;
    float value[1];
    size_t n;
    glinfer_embed_params_init(&params);
    params.pooling = GLINFER_POOLING_MEAN;
    if (glinfer_embed(session, ids, 2, &params, value, 1, &n, &err) ||
        err.status != GLINFER_STATUS_INVALID_ARGUMENT ||
        glinfer_embed(session, ids, 0, &params, NULL, 0, &n, &err) ||
        err.status != GLINFER_STATUS_INVALID_ARGUMENT ||
        glinfer_embed(session, wrong, 2, &params, NULL, 0, &n, &err) ||
        err.status != GLINFER_STATUS_INVALID_ARGUMENT) {
        return fail("status of a refusal", err.status, GLINFER_STATUS_INVALID_ARGUMENT);
    }
    int32_t *longest = calloc(1 << 20, sizeof(*longest));
    const bool is_refused =
        longest && !glinfer_embed(session, longest, 1 << 20, &params, NULL, 0, &n, &err);
    free(longest);
    return (is_refused && err.status == GLINFER_STATUS_CONTEXT_FULL) ||
           fail("status of a long text", err.status, GLINFER_STATUS_CONTEXT_FULL);
}

// An encoder generates no text, and says so.
static bool check_kind(struct glinfer_session *session, const struct glinfer_model *model)
{
    const int32_t ids[] = {1, 2};
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    struct glinfer_generate_params params;
    struct glinfer_error err = {0};
    glinfer_generate_params_init(&params);
    params.prompt = ids;
    params.n_prompt = 2;
    params.n_predict = 2;
    glinfer_model_describe(model, &info);
    if (!info.is_encoder) {
        return true;
    }
    return (!glinfer_generate(session, &params, NULL, &err) &&
            err.status == GLINFER_STATUS_UNSUPPORTED) ||
           fail("status of an encoder's answer", err.status, GLINFER_STATUS_UNSUPPORTED);
}

//-- the file --------------------------------------------------------------------------------------

static void read_pooling(struct golden_case *golden, const char *word)
{
    golden->pooling = GLINFER_POOLING_DEFAULT;
    for (int i = 1; i < 6; i++) {
        if (strncmp(word, poolings[i], strlen(poolings[i])) == 0) {
            golden->pooling = (enum glinfer_pooling)i;
        }
    }
}

static void read_ids(struct golden_case *golden, char *words)
{
    char *next;
    golden->n = 0;
    for (char *at = words; golden->n < MAX_TOKENS; at = next) {
        const long id = strtol(at, &next, 10);
        if (next == at) {
            return;
        }
        golden->ids[golden->n++] = (int32_t)id;
    }
}

static size_t read_values(char *words, double *values, size_t cap)
{
    char *next;
    size_t n = 0;
    for (char *at = words; n < cap; at = next) {
        values[n] = strtod(at, &next);
        if (next == at) {
            break;
        }
        n++;
    }
    return n;
}

static bool check_line(const struct options *options, struct glinfer_session *session,
                       struct golden_case *golden, char *line)
{
    if (strncmp(line, "case ", 5) == 0) {
        read_pooling(golden, line + 5);
    } else if (strncmp(line, "tokens ", 7) == 0) {
        read_ids(golden, line + 7);
    } else if (strncmp(line, "values ", 7) == 0) {
        if (options->longest && golden->n > options->longest) {
            return true;
        }
        const size_t cap = strlen(line) / 2;
        double *values = calloc(cap, sizeof(*values));
        const size_t n = values ? read_values(line + 7, values, cap) : 0;
        const bool ok = n > 0 && check_case(options, session, golden, values, n);
        free(values);
        return ok || (fprintf(stderr, "wrong at %zu tokens\n", golden->n), false);
    }
    return true;
}

static bool check_file(const struct options *options, struct glinfer_session *session)
{
    FILE *file = fopen(options->golden, "r");
    char *line = malloc(MAX_LINE);
    struct golden_case golden;
    bool ok = file && line;
    while (ok && fgets(line, MAX_LINE, file)) {
        ok = check_line(options, session, &golden, line);
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return ok;
}

static bool take_option(struct options *options, const char *name, const char *value)
{
    if (strcmp(name, "--cache") == 0 && strcmp(value, "f32") == 0) {
        options->session.type_k = options->session.type_v = GLINFER_CACHE_F32;
        options->least_cosine = 0.999999;
    } else if (strcmp(name, "--batch") == 0) {
        options->session.n_batch = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(name, "--brief") == 0) {
        options->longest = getenv("GLINFER_TEST_ALL") ? 0 : 50;
    } else if (strcmp(name, "--precision") == 0) {
        options->session.precision = GLINFER_PRECISION_F16;
    } else {
        fprintf(stderr, "unknown option %s %s\n", name, value);
        return false;
    }
    return true;
}

static int run(const struct run *run, struct glinfer_device **device)
{
    struct options options = {.least_cosine = 0.9999};
    struct glinfer_model_params params;
    struct glinfer_error err;
    bool ok = run->n_words >= 2 && run->n_words % 2 == 0;
    glinfer_session_params_init(&options.session);
    options.session.precision = GLINFER_PRECISION_F32;
    for (int i = 2; ok && i < run->n_words; i += 2) {
        ok = take_option(&options, run->words[i], run->words[i + 1]);
    }
    if (!ok) {
        fprintf(stderr, "usage: embedding_test MODEL GOLDEN [options]\n");
        return EXIT_FAILURE;
    }
    if (!*device && !(*device = create_device(NULL))) {
        return SKIPPED;
    }
    options.golden = run->words[1];
    glinfer_model_params_init(&params);
    params.path = run->words[0];
    struct glinfer_model *model = glinfer_model_load(*device, &params, &err);
    struct glinfer_session *session =
        model ? glinfer_session_create(model, &options.session, &err) : NULL;
    if (!session) {
        fprintf(stderr, "%s\n", err.message);
    }
    ok = session && check_file(&options, session) && check_refusals(session) &&
         check_kind(session, model);
    glinfer_session_destroy(&session);
    glinfer_model_destroy(&model);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int n_arg, char **args)
{
    return run_all(n_arg, args, run);
}
