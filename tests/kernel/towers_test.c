// towers_test MODEL GOLDEN: the towers of a tiny Whisper model against what numpy computes in
// double (tools/golden/make_tiny_whisper.py), and against themselves: tokens in pieces and one by
// one, and any number of positions after any other. Exits 77 without a device.
#include "engine/model/plan/towers.h"
#include "engine/speech/speech_towers.h"
#include "tests/golden/fixture/tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1 << 16, MAX_WIDTH = 256, MAX_VOCAB = 512, MAX_SOUND = 128 * 128, STRIDE = 5 };

static const uint32_t text[] = {7, 3, 0, 11, 5, 190, 64, 64, 9, 2, 33, 101};
enum { N_TEXT = sizeof(text) / sizeof(text[0]) };

// Maximum differences.
struct tolerance {
    double row, logits, weight; // of attention
};

// Keys and values are kept in f16, with 11 bits: the outputs of a model of two layers, whose
// scores and sums they enter, differ by some of these roundings. Rows of the encoder have an RMS
// of 2 to 3, logits of 1.
static const struct tolerance f32_tolerance = {2e-3, 2e-3, 2e-4};
// Products in f16 round their inputs, weights and sums of 32 products to 11 bits. Six products one
// after the other add up to the output of a tower: two convolutions and two products in each layer
// of the encoder, or three in each layer of the decoder. Errors of one sum mostly cancel, so that
// each product is taken to be off by one rounding of the output's RMS.
static const struct tolerance f16_tolerance = {6 * 3 * 0x1p-11, 6 * 0x1p-11, 6 * 0x1p-11};

struct test {
    struct tiny_model tiny;
    struct gi_speech_towers towers;
    struct tolerance tolerance; // of the precision that the sessions use
    float mel[MAX_SOUND];
    float logits[N_TEXT][MAX_VOCAB]; // after each token, one by one
    double worst_row, worst_logits, worst_weight;
    bool has_failed;
};

static void fail(struct test *t, const char *what, uint32_t at, double found, double expected)
{
    fprintf(stderr, "%s %u: %.7g, expected %.7g\n", what, at, found, expected);
    t->has_failed = true;
}

static void check(bool is_done, const struct glinfer_error *err)
{
    if (!is_done) {
        fprintf(stderr, "%s\n", err->message);
        exit(EXIT_FAILURE);
    }
}

// Loads the towers of a file whose vocabulary is not Whisper's, so that it cannot be transcribed
// with.
static struct glinfer_model *load_towers(struct test *t, const char *path)
{
    struct glinfer_device_params device;
    struct glinfer_model_params params;
    struct glinfer_source source;
    struct glinfer_model *towers[GI_TOWER_COUNT];
    struct glinfer_error err = {0};
    glinfer_device_params_init(&device);
    device.allow_software = true;
    t->tiny.device = glinfer_device_create(&device, &err);
    if (!t->tiny.device) {
        printf("skipped: %s\n", err.message);
        exit(77);
    }
    glinfer_model_params_init(&params);
    glinfer_source_init(&source);
    source.path = path;
    for (uint32_t i = 0; i < GI_TOWER_COUNT; i++) {
        towers[i] =
            gi_model_load_tower(t->tiny.device, &source, &params, &gi_whisper_towers[i], &err);
        check(towers[i], &err);
    }
    t->tiny.model = towers[GI_TOWER_DECODER];
    t->tiny.model->encoder = towers[GI_TOWER_ENCODER];
    return t->tiny.model;
}

// The sound of the golden file.
static void make_sound(struct test *t, uint32_t n)
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        t->mel[i] = (float)((double)(state >> 8) / (1 << 23) - 1);
    }
}

static void decode(struct test *t, uint32_t decoder, uint32_t n_past, uint32_t n, float *logits)
{
    struct glinfer_error err = {0};
    check(gi_speech_decode(&t->towers, decoder, n_past, text + n_past, n, logits, &err), &err);
}

//-- against itself --------------------------------------------------------------------------------

static void compare_logits(struct test *t, const char *what, uint32_t token, const float *logits)
{
    for (uint32_t i = 0; i < t->tiny.model->hparams.n_vocab; i++) {
        const double expected = (double)t->logits[token][i];
        if (!(fabs((double)logits[i] - expected) <= t->tolerance.logits)) {
            fail(t, what, i, (double)logits[i], expected);
            return;
        }
    }
}

// Tokens in pieces are tokens one by one; a text that is continued in the middle is as before; each
// decoder has a text of its own.
static void check_pieces(struct test *t)
{
    static float logits[MAX_VOCAB];
    for (uint32_t i = 0; i < N_TEXT; i++) {
        decode(t, 0, i, 1, t->logits[i]);
    }
    decode(t, 1, 0, N_TEXT, logits);
    compare_logits(t, "all at once", N_TEXT - 1, logits);
    decode(t, 0, 3, 6, logits);
    compare_logits(t, "from the fourth on", 8, logits);
    decode(t, 1, 0, 2, logits);
    compare_logits(t, "two", 1, logits);
    decode(t, 0, 9, 3, logits);
    compare_logits(t, "the last three", N_TEXT - 1, logits);
}

static void check_limits(struct test *t)
{
    static float logits[MAX_VOCAB];
    struct glinfer_error err = {0};
    const uint32_t n_ctx = t->tiny.model->hparams.n_ctx_train;
    if (gi_speech_decode(&t->towers, 0, n_ctx, text, 1, logits, &err) ||
        err.status != GLINFER_STATUS_CONTEXT_FULL) {
        fail(t, "a token after the last: status", 0, err.status, GLINFER_STATUS_CONTEXT_FULL);
    }
}

//-- against the reference -------------------------------------------------------------------------

// Reads a row of the encoder's residual stream.
static void read_row(struct test *t, uint32_t row, float *out)
{
    struct glinfer_session *session = t->towers.encoder;
    const struct gi_rows *x = &session->tables.graph.x;
    struct gi_range range = x->range;
    struct glinfer_error err = {0};
    range.offset += (uint64_t)row * x->stride * sizeof(float);
    check(gi_runner_read(&session->runner, &range, out,
                         session->model->hparams.n_embd * sizeof(float), &err),
          &err);
}

// Compares n values with those of a line; returns the largest difference.
static double compare(struct test *t, const char *kind, uint32_t index, char *numbers,
                      const float *found, uint32_t n, uint32_t step, double tolerance)
{
    double worst = 0;
    for (uint32_t i = 0; i < n; i += step) {
        char *end;
        const double expected = strtod(numbers, &end);
        const double difference = fabs((double)found[i] - expected);
        if (end == numbers || !(difference <= tolerance)) {
            fail(t, kind, index, (double)found[i], expected);
            return difference;
        }
        worst = fmax(worst, difference);
        numbers = end;
    }
    return worst;
}

// Compares the weights that the last head gives to the positions for a token of the text.
static void check_weights(struct test *t, uint32_t token, char *numbers)
{
    static float weights[N_TEXT * MAX_WIDTH];
    const struct gi_hparams *hparams = &t->tiny.model->hparams;
    const uint32_t n_key = t->towers.n_key;
    struct glinfer_error err = {0};
    check(gi_speech_attend(&t->towers, 1, text, N_TEXT, &err) &&
              gi_speech_weigh(&t->towers, 1, hparams->n_layer / 2 - 1, hparams->n_head - 1, weights,
                              &err),
          &err);
    t->worst_weight =
        fmax(t->worst_weight, compare(t, "weights", token, numbers, weights + (size_t)token * n_key,
                                      n_key, 1, t->tolerance.weight));
}

static void check_line(struct test *t, char *line)
{
    static float row[MAX_WIDTH];
    const struct gi_hparams *hparams = &t->tiny.model->hparams;
    struct glinfer_error err = {0};
    char kind[16];
    uint32_t index;
    int size = 0;
    if (sscanf(line, "%15s %u%n", kind, &index, &size) != 2) {
        fail(t, "a line of the golden file", 0, 0, 0);
    } else if (strcmp(kind, "positions") == 0) {
        check(gi_speech_encode(&t->towers, t->mel, 2 * index, &err), &err);
        printf("%u positions\n", index);
    } else if (strcmp(kind, "row") == 0) {
        read_row(t, index, row);
        t->worst_row = fmax(t->worst_row, compare(t, kind, index, line + size, row, hparams->n_embd,
                                                  1, t->tolerance.row));
    } else if (strcmp(kind, "weights") == 0) {
        check_weights(t, index, line + size);
    } else {
        if (index == 0) {
            check_pieces(t);
        }
        t->worst_logits =
            fmax(t->worst_logits, compare(t, kind, index, line + size, t->logits[index],
                                          hparams->n_vocab, STRIDE, t->tolerance.logits));
    }
}

static void check_file(struct test *t, const char *path)
{
    static char line[MAX_LINE];
    FILE *file = fopen(path, "r");
    uint32_t n_line = 0;
    while (file && fgets(line, sizeof(line), file)) {
        check_line(t, line);
        n_line++;
    }
    if (file) {
        fclose(file);
    }
    if (n_line == 0) {
        fail(t, "lines of the golden file", 0, 0, 1);
    }
}

int main(int argc, char **argv)
{
    static struct test t;
    struct gi_platform_saved saved;
    struct glinfer_error err = {0};
    if (argc != 3) {
        return EXIT_FAILURE;
    }
    struct glinfer_model *model = load_towers(&t, argv[1]);
    const struct gi_hparams *encoder = &model->encoder->hparams;
    make_sound(&t, 2 * encoder->n_ctx_train * encoder->n_sound);
    check(gi_speech_towers_create(&t.towers, model, 2, &err), &err);
    t.tolerance = t.towers.encoder->tables.recorder.is_half ? f16_tolerance : f32_tolerance;
    check(gi_device_enter(model->device, &saved, &err), &err);
    model->device->is_busy = true;
    check_file(&t, argv[2]);
    check_limits(&t);
    model->device->is_busy = false;
    gi_device_leave(model->device, &saved);
    gi_speech_towers_finish(&t.towers);
    tiny_model_close(&t.tiny);
    printf("largest difference: rows %.2g, logits %.2g, weights %.2g\n", t.worst_row,
           t.worst_logits, t.worst_weight);
    return t.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
