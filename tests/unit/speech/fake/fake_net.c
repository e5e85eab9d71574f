#include "tests/unit/speech/fake/fake_net.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_opened.h"

#include <math.h>

//-- network -----------------------------------------------------------------------------------

// False once in a while, for calls that fail or are busy.
static enum gi_net_result pass(struct fake_net *fake)
{
    fake->was_busy = fake->is_often_busy && !fake->was_busy;
    if (fake->was_busy) {
        return GI_NET_BUSY;
    }
    if (++fake->n_call == fake->failed_call) {
        gi_error_set(&fake->failure, GLINFER_STATUS_GPU_LOST, "the fake GPU was reset");
        return GI_NET_FAILED;
    }
    return GI_NET_DONE;
}

static enum gi_net_result encode(void *user, const float *mel, uint32_t n_frame)
{
    struct fake_net *fake = user;
    const enum gi_net_result result = pass(fake);
    if (result != GI_NET_DONE) {
        return result;
    }
    assert_true(n_frame > 0 && n_frame % 2 == 0 && n_frame <= 2 * FAKE_N_POSITION);
    struct fake_window *window = &fake->windows[fake->n_window++ % FAKE_N_WINDOW];
    *window = (struct fake_window){.n_frame = n_frame};
    for (uint32_t i = 0; i < n_frame * FAKE_N_MEL; i++) {
        assert_true(isfinite(mel[i]));
        if (mel[i] > 0) {
            window->n_loud = i / FAKE_N_MEL + 1;
        }
    }
    return GI_NET_DONE;
}

// Returns the number of tokens before the text.
static uint32_t find_text(const struct fake_net *fake, const uint32_t *tokens, uint32_t n)
{
    uint32_t begin = 0;
    while (begin < n && tokens[begin] != fake->ids.start) {
        begin++;
    }
    begin += fake->ids.n_language > 0 ? 3 : 1;
    return begin < n && tokens[begin] == fake->ids.no_times ? begin + 1 : begin;
}

static enum gi_net_result decode(void *user, uint32_t seq, uint32_t n_past, const uint32_t *tokens,
                                 uint32_t n, float *logits)
{
    struct fake_net *fake = user;
    const enum gi_net_result result = pass(fake);
    if (result != GI_NET_DONE) {
        return result;
    }
    assert_true(fake->n_window > 0 && seq < FAKE_N_SEQ && n > 0);
    assert_true(n_past <= fake->seqs[seq].n && n_past + n <= FAKE_N_CONTEXT);
    memcpy(&fake->seqs[seq].tokens[n_past], tokens, n * sizeof(*tokens));
    fake->seqs[seq].n = n_past + n;
    fake->n_decode++;
    for (uint32_t i = 0; i < fake->ids.n_vocab; i++) {
        logits[i] = -20;
    }
    const uint32_t *own = fake->seqs[seq].tokens;
    if (n_past == 0 && n == 1 && fake->ids.n_language > 0) {
        fake->n_detected++;
        logits[fake->ids.language + fake->language] = 10;
        return GI_NET_DONE;
    }
    const uint32_t begin = find_text(fake, own, n_past + n);
    assert_true(begin <= n_past + n);
    if (n_past == 0) {
        struct fake_window *window = &fake->windows[(fake->n_window - 1) % FAKE_N_WINDOW];
        window->n_attempt++;
        memcpy(window->prompt, own, n * sizeof(*own));
        window->n_prompt = n;
        logits[fake->ids.no_speech] = fake->no_speech;
    }
    fake->logits(fake, own + begin, n_past + n - begin, logits);
    return GI_NET_DONE;
}

enum gi_net_result fake_decode_each(void *user, const uint32_t *seqs, uint32_t n, uint32_t n_past,
                                    const uint32_t *tokens, float *const *logits)
{
    struct fake_net *fake = user;
    const bool is_often_busy = fake->is_often_busy;
    enum gi_net_result result = pass(fake);
    fake->is_often_busy = false;
    for (uint32_t i = 0; i < n && result == GI_NET_DONE; i++) {
        fake->n_call--; // all are one
        result = decode(user, seqs[i], n_past, &tokens[i], 1, logits[i]);
    }
    fake->is_often_busy = is_often_busy;
    fake->n_together++;
    return result;
}

enum gi_net_result fake_write(void *user, const struct gi_net_text *text,
                              struct gi_whisper_token out[GI_NET_TOKENS], uint32_t *n_out,
                              float *no_speech)
{
    enum { N_WRITTEN = 3 };
    static float logits[51866];
    static struct gi_whisper_token tokens[FAKE_N_CONTEXT + N_WRITTEN];
    struct fake_net *fake = user;
    struct gi_whisper_window window = *text->window;
    uint32_t n_past = text->n_past, n = text->n;
    const uint32_t *next = text->tokens;
    enum gi_whisper_progress progress;
    assert_true(text->choice->temperature <= 0 && text->choice->suppressed);
    window.data = tokens;
    window.capacity = sizeof(tokens);
    for (size_t i = 0; i < window.count; i++) {
        tokens[i] = text->window->data[i];
    }
    const bool is_often_busy = fake->is_often_busy;
    for (*n_out = 0; *n_out < N_WRITTEN; n_past += n, n = 1, next = &out[(*n_out)++].id) {
        const enum gi_net_result result = decode(user, text->seq, n_past, next, n, logits);
        fake->is_often_busy = false; // a call is busy as a whole
        if (result != GI_NET_DONE) {
            fake->is_often_busy = is_often_busy;
            return result;
        }
        if (window.count == 0) {
            *no_speech = gi_whisper_probability(logits, 0, fake->ids.n_vocab, fake->ids.no_speech);
        }
        const struct gi_whisper_mask mask = gi_whisper_next_mask(&window);
        if (gi_whisper_choose(text->choice, &mask, logits, &out[*n_out], 1) == 0) {
            fake->is_often_busy = is_often_busy;
            gi_error_set(&fake->failure, GLINFER_STATUS_GPU_FAULT, "no logit is a number");
            return GI_NET_FAILED;
        }
        must(gi_whisper_push(&window, out[*n_out], &progress, &fake->failure), &fake->failure);
    }
    fake->is_often_busy = is_often_busy;
    fake->n_write++;
    return GI_NET_DONE;
}

static bool copy(void *user, uint32_t to, uint32_t from, uint32_t n_past)
{
    struct fake_net *fake = user;
    if (++fake->n_call == fake->failed_call) {
        return gi_error_set(&fake->failure, GLINFER_STATUS_GPU_LOST, "the fake GPU was reset");
    }
    assert_true(to != from && n_past <= fake->seqs[from].n);
    fake->seqs[to] = fake->seqs[from];
    fake->seqs[to].n = n_past;
    fake->n_copy++;
    return true;
}

static enum gi_net_result attend(void *user, const uint32_t *tokens, uint32_t n)
{
    static float logits[1 << 16]; // nobody reads them
    return decode(user, 0, 0, tokens, n, logits);
}

// Token i looks at position 10 * i: it is heard 0.2 s after the one before.
static bool align(void *user, uint32_t layer, uint32_t head, float *weights)
{
    struct fake_net *fake = user;
    const uint32_t n_position = fake->windows[(fake->n_window - 1) % FAKE_N_WINDOW].n_frame / 2;
    if (++fake->n_call == fake->failed_call) {
        return gi_error_set(&fake->failure, GLINFER_STATUS_GPU_LOST, "the fake GPU was reset");
    }
    assert_true(layer < fake->net.n_layer && head < fake->net.n_head);
    for (uint32_t i = 0; i < fake->seqs[0].n; i++) {
        for (uint32_t j = 0; j < n_position; j++) {
            const float distance = ((float)j - 10 * (float)i - 5) / 5;
            weights[i * n_position + j] = expf(-distance * distance) + 1e-6F;
        }
    }
    fake->n_align++;
    return true;
}

void fake_net_init(struct fake_net *fake, uint32_t n_vocab, fake_logits logits, const void *story)
{
    *fake = (struct fake_net){
        .net = {.n_vocab = n_vocab,
                .n_mel = FAKE_N_MEL,
                .n_audio_ctx = FAKE_N_POSITION,
                .n_text_ctx = FAKE_N_CONTEXT,
                .n_layer = 4,
                .n_head = 6,
                .n_seq = FAKE_N_SEQ,
                .encode = encode,
                .decode = decode,
                .copy = copy,
                .attend = attend,
                .align = align},
        .logits = logits,
        .story = story,
        .no_speech = -20,
    };
    fake->net.user = fake;
    fake->net.failure = &fake->failure;
    assert_true(gi_whisper_ids_init(&fake->ids, n_vocab));
}

void fake_tell(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits)
{
    (void)tokens;
    const struct fake_story *story = fake->story;
    const uint32_t *text = fake->n_window > 1 && story->next ? story->next : story->tokens;
    for (uint32_t i = 0; i < n && *text; i++) {
        text++;
    }
    logits[*text ? *text : fake->ids.end] = 10;
}

//-- model -------------------------------------------------------------------------------------

static const char *const more_tokens[] = {" the", " cat", " sat", " ♪", "\xe2\x82",
                                          "on",   "th",   "the",  " t"};
enum { N_MORE = sizeof(more_tokens) / sizeof(more_tokens[0]) };

void fake_model_init(struct gi_whisper_model *model, uint32_t n_vocab)
{
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 4);
    gguf_pair_u32(&b, "whisper.vocab_size", n_vocab);
    gguf_pair_u32(&b, "whisper.mel_count", FAKE_N_MEL);
    gguf_array(&b, "whisper.mel_filters", GI_GGUF_KIND_F32, FAKE_N_MEL * GI_MEL_N_BINS);
    for (int i = 0; i < FAKE_N_MEL * GI_MEL_N_BINS; i++) {
        gguf_f32(&b, i % 7 == 0 ? 0.1F : 0);
    }
    gguf_array(&b, "tokenizer.ggml.tokens", GI_GGUF_KIND_STRING, 256 + N_MORE);
    for (int i = 0; i < 256; i++) {
        const char byte = (char)i;
        gguf_u64(&b, 1);
        gguf_bytes(&b, &byte, 1);
    }
    for (int i = 0; i < N_MORE; i++) {
        gguf_string(&b, more_tokens[i]);
    }
    gguf_pad(&b, 32);
    OPENED file = open_bytes(&b, b.size);
    must(file.gguf, &file.err);
    must_do(gi_whisper_model_init(model, file.gguf, &err));
    gguf_finish(&b);
}
