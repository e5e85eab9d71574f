#include "engine/speech/speech_towers.h"

#include "base/array.h"
#include "base/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gi_speech_towers_create(struct gi_speech_towers *towers, struct glinfer_model *model,
                             uint32_t n_decoder, struct glinfer_error *err)
{
    const struct gi_hparams *hparams = &model->encoder->hparams;
    const struct glinfer_session_params params = {.n_ctx = hparams->n_ctx_train};
    const struct glinfer_session_params text = {.n_ctx = model->hparams.n_ctx_train};
    *towers = (struct gi_speech_towers){.n_decoder = n_decoder};
    towers->rows = gi_array_zeroed((size_t)2 * hparams->n_ctx_train + 2,
                                   gi_round_up(hparams->n_sound, GI_QUANT_BLOCK) * sizeof(float),
                                   "a spectrogram", err);
    bool ok =
        towers->rows && gi_sessions_create(model->encoder, &params, NULL, 1, &towers->encoder, err);
    for (uint32_t i = 0; ok && i < n_decoder; i++) {
        ok = gi_sessions_create(model, &text, towers->encoder, 1, &towers->decoders[i], err);
    }
    if (!ok) {
        gi_speech_towers_finish(towers);
    }
    return ok;
}

void gi_speech_towers_finish(struct gi_speech_towers *towers)
{
    for (uint32_t i = 0; i < towers->n_decoder; i++) {
        if (towers->decoders[i]) {
            towers->decoders[i]->is_doomed = true;
        }
    }
    if (towers->encoder) {
        towers->encoder->is_doomed = true;
    }
    free(towers->rows);
    gi_speech_align_finish(&towers->align);
    *towers = (struct gi_speech_towers){0};
}

// Runs a list over n_tokens tokens after n_past.
static bool run_list(struct glinfer_session *session, uint32_t list,
                     const struct gi_step_state *state, struct glinfer_error *err)
{
    struct gi_runner *runner = &session->runner;
    struct gi_executor *executor = gi_tables_find(&session->tables, list, err);
    const struct gi_chain chain = {
        .n_past = state->n_past, .n_tokens = state->n_tokens, .n_steps = 1, .box = &runner->box};
    return executor && gi_time_box_reserve(&runner->box, session->model->device->programs, err) &&
           gi_runner_write(runner, state, err) && gi_runner_run(runner, executor, &chain, err) &&
           gi_time_box_close(&runner->box, err);
}

// Prepares all lists before the first window: the self-test of a list uses the memory of others.
static bool prepare(struct gi_speech_towers *towers, struct glinfer_error *err)
{
    const uint32_t hearing = 1u << GI_LIST_HEAR | 1u << GI_LIST_PROMPT;
    const uint32_t writing = 1u << GI_LIST_PROMPT | 1u << GI_LIST_LOGITS;
    bool ok = gi_tables_prepare(&towers->encoder->tables, hearing, NULL, NULL, err);
    for (uint32_t i = 0; ok && i < towers->n_decoder; i++) {
        const bool is_greedy = i == 0 && towers->decoders[i]->model->speech.ids.n_vocab > 0;
        const uint32_t lists = writing | (uint32_t)is_greedy << GI_LIST_SPEECH;
        ok = gi_tables_prepare(&towers->decoders[i]->tables, lists, NULL, NULL, err);
    }
    return ok;
}

bool gi_speech_encode(struct gi_speech_towers *towers, const float *mel, uint32_t n_frame,
                      struct glinfer_error *err)
{
    struct glinfer_session *session = towers->encoder;
    const struct gi_graph *graph = &session->tables.graph;
    const uint32_t n_mel = graph->hparams->n_sound, stride = graph->sound.stride;
    const size_t n_row = (size_t)n_frame + 2; // of them the first and the last are silence
    const struct gi_step_state frames = {.n_tokens = n_frame},
                               positions = {.n_tokens = n_frame / 2};
    for (size_t i = 0; i < n_row; i++) {
        const bool is_sound = i > 0 && i + 1 < n_row;
        memset(towers->rows + i * stride, 0, stride * sizeof(float));
        if (is_sound) {
            memcpy(towers->rows + i * stride, mel + (i - 1) * n_mel, n_mel * sizeof(float));
        }
    }
    towers->n_key = 0;
    // The row before the first frame, which the second convolution reads.
    float *zeros = gi_array_zeroed(graph->hparams->n_embd, sizeof(float), "a spectrogram", err);
    const bool ok = zeros && prepare(towers, err) && gi_runner_begin(&session->runner, err) &&
                    gi_runner_fill(&session->runner, &graph->sound.range, towers->rows,
                                   n_row * stride * sizeof(float), err) &&
                    gi_runner_fill(&session->runner, &graph->qkv.range, zeros,
                                   graph->hparams->n_embd * sizeof(float), err) &&
                    run_list(session, GI_LIST_HEAR, &frames, err) &&
                    run_list(session, GI_LIST_PROMPT, &positions, err);
    free(zeros);
    towers->n_key = ok ? n_frame / 2 : 0;
    return ok;
}

// Reads tokens whose logits are not needed, as many at a time as cross-attention allows. align:
// takes their queries; NULL: nobody does.
static bool read_tokens(struct gi_speech_towers *towers, struct glinfer_session *session,
                        uint32_t n_past, const uint32_t *tokens, uint32_t n,
                        struct gi_speech_align *align, struct glinfer_error *err)
{
    const uint32_t most =
        session->tables.n_batch < towers->n_key ? session->tables.n_batch : towers->n_key;
    bool ok = true;
    for (uint32_t done = 0, count; ok && done < n; done += count) {
        count = n - done < most ? n - done : most;
        const struct gi_step_state state = {.n_past = n_past + done, .n_tokens = count};
        ok = gi_session_set_keys(session, towers->n_key, count, err) &&
             gi_runner_fill(&session->runner, &session->tables.ranges[GI_SESSION_TOKENS],
                            tokens + done, count * sizeof(*tokens), err) &&
             (align ? gi_runner_write(&session->runner, &state, err) &&
                          gi_speech_align_run(align, session, state.n_past, count, err)
                    : run_list(session, GI_LIST_PROMPT, &state, err));
    }
    return ok;
}

// Reads the logits in one piece; reading the first alone also tells whether all dispatches ran.
static bool fetch_logits(struct glinfer_session *session, float *logits, struct glinfer_error *err)
{
    const struct gi_logits *from = &session->tables.graph.logits;
    const uint64_t size = from->n_vocab * sizeof(float);
    struct gi_gpu *gpu = gi_session_gpu(session);
    struct gi_readback *readback = &session->logits;
    if (readback->capacity == 0 && !gi_readback_init(readback, gpu, size, err)) {
        return false;
    }
    gi_readback_begin(readback);
    gi_readback_add_checked(readback, gpu, from->range.buffer, from->range.offset, size);
    if (!gi_readback_end(readback, gpu, err) ||
        !gi_runner_read(&session->runner, &from->range, logits, sizeof(*logits), err) ||
        !gi_readback_wait(readback, gpu, err)) {
        return false;
    }
    memcpy(logits, readback->data, size);
    for (uint32_t i = 0; i < from->n_vocab; i++) {
        if (!isfinite(logits[i])) {
            return gi_error_set(err, GLINFER_STATUS_GPU_FAULT,
                                "the GPU computed a logit that is not a number, of token %u", i);
        }
    }
    return true;
}

static bool check_room(const struct gi_speech_towers *towers, uint32_t decoder, uint32_t n_past,
                       uint32_t n, struct glinfer_error *err)
{
    const uint32_t n_ctx = towers->decoders[decoder]->sequence.n_ctx;
    return (n > 0 && towers->n_key > 0 && n_past <= n_ctx && n <= n_ctx - n_past) ||
           gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                        "%u tokens after %u do not fit the text of %u that a window may have", n,
                        n_past, n_ctx);
}

bool gi_speech_read(struct gi_speech_towers *towers, uint32_t decoder, uint32_t n_past,
                    const uint32_t *tokens, uint32_t n, struct glinfer_error *err)
{
    struct glinfer_session *session = towers->decoders[decoder];
    return check_room(towers, decoder, n_past, n, err) && gi_runner_begin(&session->runner, err) &&
           (n == 1 || read_tokens(towers, session, n_past, tokens, n - 1, NULL, err)) &&
           gi_session_set_keys(session, towers->n_key, 1, err);
}

bool gi_speech_decode(struct gi_speech_towers *towers, uint32_t decoder, uint32_t n_past,
                      const uint32_t *tokens, uint32_t n, float *logits, struct glinfer_error *err)
{
    struct glinfer_session *session = towers->decoders[decoder];
    if (!gi_speech_read(towers, decoder, n_past, tokens, n, err)) {
        return false;
    }
    const struct gi_step_state state = {
        .token = tokens[n - 1], .n_past = n_past + n - 1, .n_tokens = 1};
    return run_list(session, GI_LIST_LOGITS, &state, err) && fetch_logits(session, logits, err);
}

bool gi_speech_attend(struct gi_speech_towers *towers, uint32_t decoder, const uint32_t *tokens,
                      uint32_t n, struct glinfer_error *err)
{
    struct glinfer_session *session = towers->decoders[decoder];
    const struct gi_range *x = &session->tables.graph.x.range;
    float first;
    return check_room(towers, decoder, 0, n, err) &&
           gi_speech_align_begin(&towers->align, &session->model->hparams, n, err) &&
           gi_runner_begin(&session->runner, err) &&
           read_tokens(towers, session, 0, tokens, n, &towers->align, err) &&
           gi_runner_read(&session->runner, x, &first, sizeof(first), err); // all dispatches ran
}

bool gi_speech_weigh(struct gi_speech_towers *towers, uint32_t decoder, uint32_t layer,
                     uint32_t head, float *weights, struct glinfer_error *err)
{
    return gi_speech_align_weigh(&towers->align, towers->decoders[decoder], layer, head,
                                 towers->n_key, weights, err);
}
