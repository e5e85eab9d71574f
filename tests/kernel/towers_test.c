// towers_test MODEL GOLDEN: the towers of a tiny Whisper model against what numpy computes in
// double (tools/golden/make_tiny_whisper.py), and against themselves: tokens in pieces, one by one
// and in steps that decoders take together, any number of positions after any other, and tokens
// that the GPU chooses and those that the CPU does. Exits 77 without a device.
#include "engine/model/plan/towers.h"
#include "engine/speech/speech_chain.h"
#include "tests/golden/fixture/tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1 << 16, MAX_WIDTH = 256, MAX_VOCAB = 512, MAX_SOUND = 128 * 128, STRIDE = 5 };
enum { N_DECODER = 3 };

static const uint32_t text[] = {7, 3, 0, 11, 5, 190, 64, 64, 9, 2, 33, 101};
enum { N_TEXT = sizeof(text) / sizeof(text[0]) };

// A vocabulary like Whisper's.
static const struct gi_whisper_ids ids = {
    .n_vocab = 200, .end = 110, .start = 111, .no_speech = 138, .no_times = 139, .time = 140};

// Maximum differences.
struct tolerance {
    double row, logits, weight; // of attention
};

// Sums in f32 of at most 1,024 products, over and over.
static const struct tolerance exact_tolerance = {1e-4, 1e-4, 1e-4};
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
    struct glinfer_model_params params;
    struct glinfer_source source;
    struct glinfer_model *towers[GI_TOWER_COUNT];
    struct glinfer_error err = {0};
    const struct glinfer_device_params device = PARAMS(device, .allow_software = true);
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
    t->tiny.model->speech.ids = ids;
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
    check(t->towers.net.decode(&t->towers, decoder, n_past, text + n_past, n, logits),
          t->towers.failure);
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

// Decodes the text alone from its token `first` on; the tokens before it follow the last one.
static void decode_turned(struct test *t, uint32_t first, float *logits)
{
    uint32_t tokens[N_TEXT];
    for (uint32_t i = 0; i < N_TEXT; i++) {
        tokens[i] = text[(first + i) % N_TEXT];
    }
    check(t->towers.net.decode(&t->towers, 1, 0, tokens, N_TEXT, logits), t->towers.failure);
}

// Decoders that take steps together have the logits of each alone: of texts of their own, of one
// that takes no part for a while, and of a copy. A step may be divided.
static void check_together(struct test *t)
{
    enum { FIRST = 3, COPY = 5 }; // token of the second text; where the last takes part again
    static float found[N_DECODER][MAX_VOCAB];
    float *const logits[N_DECODER] = {found[0], found[1], found[2]};
    const struct gi_speech_net *net = &t->towers.net;
    const uint32_t decoders[N_DECODER] = {2, 0, 1};
    if (!net->decode_each) {
        fail(t, "decoders that take steps together", 0, 0, N_DECODER);
        return;
    }
    for (uint32_t i = 0; i < N_TEXT; i++) {
        const uint32_t tokens[N_DECODER] = {text[i], text[(FIRST + i) % N_TEXT], text[i]};
        const uint32_t n = i == 1 || i >= COPY ? N_DECODER : N_DECODER - 1;
        if (i == COPY) {
            check(net->copy(net->user, 1, 2, i), t->towers.failure);
        }
        t->towers.call.pause_ns = i % 2; // a time of the clock in the past
        enum gi_net_result result;
        do {
            result = net->decode_each(net->user, decoders, n, i, tokens, logits);
        } while (result == GI_NET_BUSY);
        check(result == GI_NET_DONE, t->towers.failure);
        compare_logits(t, "together", i, found[0]);
    }
    t->towers.call.pause_ns = 0;
    compare_logits(t, "a copy", N_TEXT - 1, found[2]);
    decode_turned(t, FIRST, t->logits[N_TEXT - 1]);
    compare_logits(t, "another text", N_TEXT - 1, found[1]);
}

static void check_limits(struct test *t)
{
    static float logits[MAX_VOCAB];
    const uint32_t n_ctx = t->tiny.model->hparams.n_ctx_train;
    if (t->towers.net.decode(&t->towers, 0, n_ctx, text, 1, logits) ||
        t->towers.failure->status != GLINFER_STATUS_CONTEXT_FULL) {
        fail(t, "a token after the last: status", 0, t->towers.failure->status,
             GLINFER_STATUS_CONTEXT_FULL);
    }
}

//-- choices ---------------------------------------------------------------------------------------

// Chooses a token on the CPU after those of a window, whose prompt is the first n of text. Sets
// *no_speech before the first.
static struct gi_whisper_token choose(struct test *t, const struct gi_whisper_choice *choice,
                                      const struct gi_whisper_window *window, uint32_t n,
                                      float *no_speech)
{
    static float logits[MAX_VOCAB];
    struct gi_whisper_token token = {0};
    const uint32_t count = (uint32_t)window->count;
    const uint32_t *last = count > 0 ? &window->data[count - 1].id : text;
    const struct gi_whisper_mask mask = gi_whisper_next_mask(window);
    enum gi_net_result result;
    do {
        result = t->towers.net.decode(&t->towers, 1, count > 0 ? n + count - 1 : 0, last,
                                      count > 0 ? 1 : n, logits);
    } while (result == GI_NET_BUSY);
    check(result == GI_NET_DONE, t->towers.failure);
    if (count == 0) {
        *no_speech = gi_whisper_probability(logits, 0, ids.n_vocab, ids.no_speech);
    }
    if (gi_whisper_choose(choice, &mask, logits, &token, 1) != 1) {
        fail(t, "tokens that may follow token", count, 0, 1);
    }
    return token;
}

static void compare_choice(struct test *t, uint32_t at, const struct gi_whisper_token *found,
                           const struct gi_whisper_token *expected)
{
    if (found->id != expected->id || found->time != expected->time) {
        fail(t, "a chosen token at", at, found->id, expected->id);
        fail(t, "the timestamp in its place at", at, found->time, expected->time);
    }
    if (!(fabs((double)found->logprob - (double)expected->logprob) <= 1e-5)) {
        fail(t, "a log-probability at", at, (double)found->logprob, (double)expected->logprob);
    }
}

// Lets the GPU write a window, and chooses each token again on the CPU.
static uint32_t check_window(struct test *t, struct gi_whisper_window *window,
                             const struct gi_whisper_choice *choice, uint32_t n_prompt)
{
    struct gi_whisper_token out[GI_NET_TOKENS];
    enum gi_whisper_progress progress = GI_WHISPER_CONTINUES;
    float no_speech[2] = {NAN, NAN}; // of the GPU, of the CPU
    gi_whisper_begin(window);
    while (progress == GI_WHISPER_CONTINUES && !t->has_failed) {
        const uint32_t count = (uint32_t)window->count;
        struct gi_net_text written = {0, 0, text, n_prompt, window, choice};
        uint32_t n = 0;
        if (count > 0) {
            written.n_past = n_prompt + count - 1;
            written.tokens = &window->data[count - 1].id;
            written.n = 1;
        }
        enum gi_net_result result;
        do {
            result = gi_speech_write(&t->towers, &written, out, &n, &no_speech[0]);
        } while (result == GI_NET_BUSY);
        check(result == GI_NET_DONE, t->towers.failure);
        if (t->towers.call.pause_ns > 0 && n > 1) {
            fail(t, "tokens of a call that is late, at", count, n, 1);
        }
        for (uint32_t i = 0; i < n && progress == GI_WHISPER_CONTINUES; i++) {
            const struct gi_whisper_token token =
                choose(t, choice, window, n_prompt, &no_speech[1]);
            compare_choice(t, count + i, &out[i], &token);
            check(gi_whisper_push(window, token, &progress, t->towers.failure), t->towers.failure);
        }
    }
    if (!(fabsf(no_speech[0] - no_speech[1]) <= 1e-6F)) {
        fail(t, "probability of no speech", 0, (double)no_speech[0], (double)no_speech[1]);
    }
    return (uint32_t)window->count;
}

// Tokens that the GPU chooses in chains are those that the CPU chooses one by one.
static void check_choices(struct test *t)
{
    static const struct {
        uint32_t n_prompt, end; // frames
        bool without_times, is_suppressed, is_late;
    } cases[] = {
        {3, 3000, false, false, false}, {1, 80, false, true, true}, {5, 3000, true, true, false}};
    const uint32_t none[8] = {0}, some[8] = {0x92492492, 0x41041041, 0x24924924, 0x11111111,
                                             0x10101010, 0x22222222, 0x88888888};
    uint32_t n_token = 0, n_time = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct gi_whisper_choice choice = {
            .ids = &ids, .suppressed = cases[i].is_suppressed ? some : none, .blank = 33};
        struct gi_whisper_window window = {.ids = &ids,
                                           .end = cases[i].end,
                                           .max_tokens = t->tiny.model->hparams.n_ctx_train -
                                                         cases[i].n_prompt,
                                           .without_times = cases[i].without_times};
        t->towers.call.pause_ns = cases[i].is_late; // a time of the clock in the past
        n_token += check_window(t, &window, &choice, cases[i].n_prompt);
        for (size_t j = 0; j < window.count; j++) {
            n_time += window.data[j].id >= ids.time;
        }
        gi_whisper_finish(&window);
    }
    printf("%u tokens chosen, %u of them timestamps\n", n_token, n_time);
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
    check(
        t->towers.net.attend(&t->towers, text, N_TEXT) &&
            t->towers.net.align(&t->towers, hparams->n_layer / 2 - 1, hparams->n_head - 1, weights),
        t->towers.failure);
    t->worst_weight =
        fmax(t->worst_weight, compare(t, "weights", token, numbers, weights + (size_t)token * n_key,
                                      n_key, 1, t->tolerance.weight));
}

static void check_line(struct test *t, char *line)
{
    static float row[MAX_WIDTH];
    const struct gi_hparams *hparams = &t->tiny.model->hparams;
    char kind[16];
    uint32_t index;
    int size = 0;
    if (sscanf(line, "%15s %u%n", kind, &index, &size) != 2) {
        fail(t, "a line of the golden file", 0, 0, 0);
    } else if (strcmp(kind, "positions") == 0) {
        check(t->towers.net.encode(&t->towers, t->mel, 2 * index), t->towers.failure);
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
    check(gi_speech_towers_create(&t.towers, model, N_DECODER, &err), &err);
    t.towers.net.write = gi_speech_write;
    t.tolerance = t.towers.encoder->tables.recorder.is_half              ? f16_tolerance
                  : t.towers.encoder->params.type_k == GLINFER_CACHE_F32 ? exact_tolerance
                                                                         : f32_tolerance;
    check(gi_device_enter(model->device, &saved, &err), &err);
    model->device->is_busy = true;
    check_file(&t, argv[2]);
    check_together(&t);
    check_limits(&t);
    check_choices(&t);
    model->device->is_busy = false;
    gi_device_leave(model->device, &saved);
    gi_speech_towers_finish(&t.towers);
    tiny_model_close(&t.tiny);
    printf("largest difference: rows %.2g, logits %.2g, weights %.2g\n", t.worst_row,
           t.worst_logits, t.worst_weight);
    return t.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
