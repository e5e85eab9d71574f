#include "engine/speech/speech_towers.h"

#include "base/array.h"
#include "base/round.h"
#include "engine/model/plan/towers.h"
#include "engine/session/saved/cache_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

//-- lists -----------------------------------------------------------------------------------------

#define JOINT_END GI_STEP_END_GREEDY // the only one: a joint step of a transcript ends with logits

static struct gi_joint_tables *joint_of(const struct gi_speech_towers *towers)
{
    return &towers->decoders[0]->group->joint;
}

static uint32_t all_slots(const struct gi_speech_towers *towers)
{
    return (1u << towers->n_decoder) - 1;
}

// Returns true if the decoders take steps together. Otherwise there is one, or a kernel of these
// steps is wrong on the device.
static bool is_joint(const struct gi_speech_towers *towers)
{
    return towers->n_decoder > 1 && !joint_of(towers)->is_refused;
}

// Makes the list of chains ready; goes without chains if its kernels are wrong on the device.
static bool prepare_chains(struct gi_speech_towers *towers)
{
    struct glinfer_error why = {0};
    const bool ok =
        gi_tables_prepare(&towers->decoders[0]->tables, 1u << GI_LIST_SPEECH, NULL, NULL, &why);
    if (!ok && why.status == GLINFER_STATUS_UNSUPPORTED) {
        towers->net.write = NULL;
        gi_log_write(&towers->encoder->model->device->log, GLINFER_LOG_WARN,
                     "the CPU chooses the tokens of transcripts: %s", why.message);
    }
    return ok || !towers->net.write || gi_error_pass(towers->failure, &why);
}

bool gi_speech_prepare(struct gi_speech_towers *towers)
{
    const uint32_t hearing = 1u << GI_LIST_HEAR | 1u << GI_LIST_PROMPT;
    const uint32_t writing = 1u << GI_LIST_PROMPT | 1u << GI_LIST_LOGITS;
    bool ok = gi_tables_prepare(&towers->encoder->tables, hearing, NULL, NULL, towers->failure);
    if (ok && towers->n_decoder > 1) {
        ok = gi_joint_tables_prepare(joint_of(towers), all_slots(towers), JOINT_END,
                                     towers->failure);
    }
    const uint32_t n_alone = is_joint(towers) ? 1 : towers->n_decoder;
    for (uint32_t i = 0; ok && i < n_alone; i++) {
        ok = gi_tables_prepare(&towers->decoders[i]->tables, writing, NULL, NULL, towers->failure);
    }
    return ok && (!towers->net.write || prepare_chains(towers));
}

//-- the decoder -----------------------------------------------------------------------------------

// Reads tokens whose logits are not needed, as many at a time as cross-attention allows. Copies
// their queries to align, unless it is NULL.
static enum gi_net_result read_tokens(struct gi_speech_towers *towers, uint32_t n_past,
                                      const uint32_t *tokens, uint32_t n,
                                      struct gi_speech_align *align)
{
    struct gi_speech_call *call = &towers->call;
    struct glinfer_session *session = call->session;
    const uint32_t most = gi_min_u32(session->tables.n_batch, towers->n_key);
    enum gi_net_result result = GI_NET_DONE;
    while (result == GI_NET_DONE && call->n_done < n) {
        const uint32_t count = gi_min_u32(n - call->n_done, most);
        const struct gi_step_state state = {.n_past = n_past + call->n_done, .n_tokens = count};
        if (!call->is_open &&
            (!gi_session_set_keys(session, towers->n_key, count, towers->failure) ||
             !gi_runner_fill(&session->runner, &session->tables.ranges[GI_SESSION_TOKENS],
                             tokens + call->n_done, count * sizeof(*tokens), towers->failure))) {
            return GI_NET_FAILED;
        }
        result = align ? gi_speech_align_run(align, call, &state)
                       : gi_speech_call_run(call, GI_LIST_PROMPT, &state);
        call->n_done += result == GI_NET_DONE ? count : 0;
    }
    return result;
}

// Takes the logits that were fetched as the row-th.
static bool take_logits(const struct gi_speech_call *call, uint32_t row, float *logits)
{
    const struct glinfer_session *session = call->session;
    const uint32_t n_vocab = session->tables.graph.logits.n_vocab;
    memcpy(logits, (const float *)session->logits.data + (size_t)row * n_vocab,
           n_vocab * sizeof(*logits));
    for (uint32_t i = 0; i < n_vocab; i++) {
        if (!isfinite(logits[i])) {
            return gi_error_set(call->failure, GLINFER_STATUS_GPU_FAULT,
                                "the GPU computed a logit that is not a number, of token %u", i);
        }
    }
    return true;
}

static bool check_room(const struct gi_speech_towers *towers, const struct glinfer_session *session,
                       uint32_t n_past, uint32_t n)
{
    const uint32_t n_ctx = session->sequence.n_ctx;
    return (n > 0 && towers->n_key > 0 && n_past <= n_ctx && n <= n_ctx - n_past) ||
           gi_error_set(towers->failure, GLINFER_STATUS_CONTEXT_FULL,
                        "%u tokens after %u do not fit the text of %u that a window may have", n,
                        n_past, n_ctx);
}

enum gi_net_result gi_speech_read(struct gi_speech_towers *towers, uint32_t n_past,
                                  const uint32_t *tokens, uint32_t n)
{
    struct glinfer_session *session = towers->call.session;
    if (!check_room(towers, session, n_past, n)) {
        return GI_NET_FAILED;
    }
    const enum gi_net_result result = read_tokens(towers, n_past, tokens, n - 1, NULL);
    return result != GI_NET_DONE || gi_session_set_keys(session, towers->n_key, 1, towers->failure)
               ? result
               : GI_NET_FAILED;
}

static enum gi_net_result decode(void *user, uint32_t decoder, uint32_t n_past,
                                 const uint32_t *tokens, uint32_t n, float *logits)
{
    enum { TOKENS, LAST, LOGITS };
    struct gi_speech_towers *towers = user;
    struct gi_speech_call *call = &towers->call;
    struct glinfer_session *session = towers->decoders[decoder];
    const struct gi_range *range = &session->tables.graph.logits.range;
    const struct gi_step_state state = {
        .token = tokens[n - 1], .n_past = n_past + n - 1, .n_tokens = 1};
    enum gi_net_result result = gi_speech_call_enter(call, session);
    if (result == GI_NET_DONE && call->stage == TOKENS) {
        result = gi_speech_read(towers, n_past, tokens, n);
        call->stage += result == GI_NET_DONE;
    }
    if (result == GI_NET_DONE && call->stage == LAST) {
        result = gi_speech_call_run(call, GI_LIST_LOGITS, &state);
        call->stage += result == GI_NET_DONE;
        if (result == GI_NET_DONE) {
            result = gi_speech_call_fetch(call, range, 1,
                                          session->tables.graph.logits.n_vocab * sizeof(*logits));
        }
    }
    if (result == GI_NET_DONE && !take_logits(call, 0, logits)) {
        result = GI_NET_FAILED;
    }
    return gi_speech_call_leave(call, result);
}

// Cross-attention counts the rows of a batch among its keys.
static bool check_keys(const struct gi_speech_towers *towers)
{
    return towers->n_key >= towers->n_decoder ||
           gi_error_set(towers->failure, GLINFER_STATUS_CONTEXT_FULL,
                        "%u texts need as many positions of sound, which has %u", towers->n_decoder,
                        towers->n_key);
}

// Writes the step states of all slots, and the keys that all of their rows read.
static bool write_states(const struct gi_speech_towers *towers, const struct gi_joint_place *place,
                         const uint32_t *tokens)
{
    struct gi_runner *runner = &towers->decoders[0]->runner;
    const struct gi_joint_tables *joint = joint_of(towers);
    const uint32_t n = towers->n_decoder;
    const struct gi_step_state own = {.token = place->live, .n_tokens = n},
                               keys = {.n_past = towers->n_key - n, .n_tokens = n};
    uint8_t states[(GI_MAX_ROWS + 1) * GI_STEP_STATE_STRIDE] = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct gi_step_state state = {
            .token = tokens[i], .n_past = place->n_past[i], .n_tokens = 1};
        memcpy(states + (size_t)i * GI_STEP_STATE_STRIDE, &state, sizeof(state));
    }
    memcpy(states + (size_t)n * GI_STEP_STATE_STRIDE, &own, sizeof(own));
    runner->last = NULL; // its step_state is a slot's
    return gi_runner_fill(runner, &joint->graph.cross_state, &keys, sizeof(keys),
                          towers->failure) &&
           gi_runner_fill(runner, &joint->joint.state.range, states,
                          (uint64_t)(n + 1) * GI_STEP_STATE_STRIDE, towers->failure);
}

static enum gi_net_result decode_each(void *user, const uint32_t *decoders, uint32_t n,
                                      uint32_t n_past, const uint32_t *tokens, float *const *logits)
{
    enum { STEP, LOGITS };
    struct gi_speech_towers *towers = user;
    struct gi_speech_call *call = &towers->call;
    struct glinfer_session *session = towers->decoders[0];
    struct gi_joint_place place = {0};
    struct gi_range ranges[GI_MAX_ROWS];
    uint32_t own[GI_MAX_ROWS] = {0};
    const struct gi_chain chain = {
        .n_past = n_past, .n_tokens = towers->n_decoder, .joint = &place};
    if (!check_room(towers, session, n_past, 1) || !check_keys(towers)) {
        return GI_NET_FAILED;
    }
    for (uint32_t i = 0; i < n; i++) {
        place.live |= 1u << decoders[i];
        place.n_past[decoders[i]] = n_past;
        own[decoders[i]] = tokens[i];
        ranges[i] = gi_joint_tables_logits(joint_of(towers), decoders[i]);
    }
    enum gi_net_result result = gi_speech_call_enter(call, session);
    if (result == GI_NET_DONE && call->stage == STEP) {
        struct gi_executor *executor =
            gi_joint_tables_step(joint_of(towers), all_slots(towers), JOINT_END, towers->failure);
        const bool ok = executor && (call->is_open || write_states(towers, &place, own));
        result = ok ? gi_speech_call_submit(call, executor, &chain) : GI_NET_FAILED;
        call->stage += result == GI_NET_DONE;
        if (result == GI_NET_DONE) {
            result = gi_speech_call_fetch(call, ranges, n,
                                          session->tables.graph.logits.n_vocab * sizeof(float));
        }
    }
    for (uint32_t i = 0; i < n && result == GI_NET_DONE; i++) {
        result = take_logits(call, i, logits[i]) ? GI_NET_DONE : GI_NET_FAILED;
    }
    return gi_speech_call_leave(call, result);
}

static bool copy(void *user, uint32_t to, uint32_t from, uint32_t n_past)
{
    const struct gi_speech_towers *towers = user;
    struct glinfer_session *const *sessions = towers->decoders;
    return gi_cache_rows_copy(&sessions[to]->sequence, &sessions[from]->sequence,
                              &sessions[to]->model->hparams, n_past, gi_session_gpu(sessions[to]),
                              towers->failure);
}

static enum gi_net_result attend(void *user, const uint32_t *tokens, uint32_t n)
{
    struct gi_speech_towers *towers = user;
    struct gi_speech_call *call = &towers->call;
    struct glinfer_session *session = towers->decoders[0];
    if (!check_room(towers, session, 0, n) ||
        !gi_speech_align_begin(&towers->align, &session->model->hparams, n)) {
        return GI_NET_FAILED;
    }
    enum gi_net_result result = gi_speech_call_enter(call, session);
    if (result == GI_NET_DONE) {
        result = read_tokens(towers, 0, tokens, n, &towers->align);
    }
    return gi_speech_call_leave(call, result);
}

static bool align(void *user, uint32_t layer, uint32_t head, float *weights)
{
    struct gi_speech_towers *towers = user;
    return gi_speech_align_weigh(&towers->align, towers->decoders[0], layer, head, towers->n_key,
                                 weights);
}

static void drop(void *user)
{
    struct gi_speech_towers *towers = user;
    if (towers->call.session) {
        gi_speech_call_leave(&towers->call, GI_NET_FAILED);
    }
}

//-- the encoder -----------------------------------------------------------------------------------

// Writes the sound that the encoder is to hear.
static bool write_sound(struct gi_speech_towers *towers, const float *mel, uint32_t n_frame)
{
    struct gi_runner *runner = &towers->encoder->runner;
    const struct gi_graph *graph = &towers->encoder->tables.graph;
    const uint32_t n_mel = graph->hparams->n_sound, stride = graph->sound.stride;
    const size_t n_row = (size_t)n_frame + 2; // the first and the last are silence
    for (size_t i = 0; i < n_row; i++) {
        memset(towers->rows + i * stride, 0, stride * sizeof(float));
        if (i > 0 && i + 1 < n_row) {
            memcpy(towers->rows + i * stride, mel + (i - 1) * n_mel, n_mel * sizeof(float));
        }
    }
    // The row before the first frame, which the second convolution reads.
    float *zeros =
        gi_array_zeroed(graph->hparams->n_embd, sizeof(float), "a spectrogram", towers->failure);
    const bool ok = zeros &&
                    gi_runner_fill(runner, &graph->sound.range, towers->rows,
                                   n_row * stride * sizeof(float), towers->failure) &&
                    gi_runner_fill(runner, &graph->qkv.range, zeros,
                                   graph->hparams->n_embd * sizeof(float), towers->failure);
    free(zeros);
    return ok;
}

static enum gi_net_result encode(void *user, const float *mel, uint32_t n_frame)
{
    enum { SOUND, HEAR, POSITIONS };
    struct gi_speech_towers *towers = user;
    struct gi_speech_call *call = &towers->call;
    const struct gi_step_state frames = {.n_tokens = n_frame},
                               positions = {.n_tokens = n_frame / 2};
    enum gi_net_result result = gi_speech_call_enter(call, towers->encoder);
    towers->n_key = 0;
    if (result == GI_NET_DONE && call->stage == SOUND) {
        const bool ok = gi_speech_prepare(towers) && write_sound(towers, mel, n_frame);
        towers->net.decode_each = is_joint(towers) ? decode_each : NULL;
        result = ok ? GI_NET_DONE : GI_NET_FAILED;
        towers->epoch = towers->encoder->runner.epoch;
        call->stage = HEAR;
    }
    if (result == GI_NET_DONE && call->stage == HEAR) {
        result = gi_speech_call_run(call, GI_LIST_HEAR, &frames);
        call->stage += result == GI_NET_DONE;
    }
    if (result == GI_NET_DONE && call->stage == POSITIONS) {
        result = gi_speech_call_run(call, GI_LIST_PROMPT, &positions);
        call->stage += result == GI_NET_DONE;
        if (result == GI_NET_DONE && call->pause_ns > 0) { // the decoder does not wait for it
            result = gi_speech_call_fetch(call, NULL, 0, 0);
        }
    }
    towers->n_key = result == GI_NET_DONE ? n_frame / 2 : 0;
    return gi_speech_call_leave(call, result);
}

//-- life ------------------------------------------------------------------------------------------

static void describe_net(struct gi_speech_towers *towers, const struct glinfer_model *model)
{
    const struct gi_hparams *decoder = &model->hparams, *encoder = &model->encoder->hparams;
    towers->net = (struct gi_speech_net){
        .user = towers,
        .failure = towers->failure,
        .n_vocab = decoder->n_vocab,
        .n_mel = encoder->n_sound,
        .n_audio_ctx = encoder->n_ctx_train,
        .n_text_ctx = decoder->n_ctx_train,
        .n_layer = decoder->n_layer / 2,
        .n_head = decoder->n_head,
        .n_seq = towers->n_decoder,
        .drop = drop,
        .encode = encode,
        .decode = decode,
        .copy = copy,
        .attend = attend,
        .align = align,
    };
}

bool gi_speech_towers_create(struct gi_speech_towers *towers, struct glinfer_model *model,
                             uint32_t n_decoder, struct glinfer_error *failure)
{
    const struct gi_hparams *hparams = &model->encoder->hparams;
    const struct gi_weight *weight = &model->encoder->weights.layers[GI_SLOT_QKV];
    const enum glinfer_cache_type type = gi_tower_cache(weight);
    const struct glinfer_session_params params = {
        .n_ctx = hparams->n_ctx_train, .type_k = type, .type_v = type};
    struct glinfer_session_params text = params;
    text.n_ctx = model->hparams.n_ctx_train;
    *towers = (struct gi_speech_towers){.failure = failure,
                                        .n_decoder = n_decoder,
                                        .align.failure = failure,
                                        .call.failure = failure};
    describe_net(towers, model);
    towers->rows = gi_array_zeroed((size_t)2 * hparams->n_ctx_train + 2,
                                   gi_round_up(hparams->n_sound, GI_QUANT_BLOCK) * sizeof(float),
                                   "a spectrogram", towers->failure);
    if (!towers->rows ||
        !gi_sessions_create(model->encoder, &params, NULL, 1, &towers->encoder, towers->failure) ||
        !gi_sessions_create(model, &text, towers->encoder, n_decoder, towers->decoders,
                            towers->failure)) {
        gi_speech_towers_finish(towers);
        return false;
    }
    return true;
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

bool gi_speech_was_lost(struct gi_speech_towers *towers)
{
    const bool was_lost = towers->epoch > 0 && towers->encoder->runner.epoch != towers->epoch;
    if (was_lost) {
        towers->call = (struct gi_speech_call){.failure = towers->failure};
        towers->epoch = towers->n_key = 0;
    }
    return was_lost;
}
