// glinfer_generate: batches of the prompt, then chains of decode steps, two in flight. A chain is read
// while the next one runs; the first "chain" is the token that the prompt itself gives.
#include "base/clock.h"
#include "engine/session_persistent.h"
#include "engine/text_stream.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct chain {
    uint32_t first, n_steps; // steps of the generation
    bool is_persistent;
};

struct generation {
    struct glinfer_session *session;
    const struct glinfer_generate_params *params;
    struct glinfer_error *err;
    struct glinfer_stats *stats;
    struct gi_text_stream text;
    enum gi_step_end end;
    uint32_t n_prompt;    // tokens to process, a pending one included
    uint32_t base;        // n_past after the prompt
    uint32_t max_steps;   // tokens at most
    uint32_t n_submitted; // steps
    uint32_t n_delivered; // tokens
    struct chain chains[GI_CHAINS_IN_FLIGHT];
    uint32_t n_chains, next_chain; // in flight; the slot that the next one takes
    uint64_t start_ns, first_ns,
        last_ns; // clock: the call, the first token, the latest chain's end
    bool is_finished;
};

static struct gi_gpu *gpu_of(const struct generation *run)
{
    return run->session->model->device->gpu;
}

static bool check_cancel(const struct generation *run)
{
    if (!atomic_exchange(&run->session->is_cancelled, false)) {
        return true;
    }
    return gi_error_set(run->err, GLINFER_STATUS_CANCELLED, "the generation was cancelled");
}

//-- step_state ----------------------------------------------------------------------------------

static bool write_range(const struct generation *run, enum gi_session_range range, const void *data,
                        uint64_t size)
{
    const struct gi_range *target = &run->session->ranges[range];
    return gi_buffer_write((struct gi_buffer *)target->buffer, gpu_of(run), target->offset, data,
                           size, run->err);
}

static bool write_state(const struct generation *run, uint32_t token, uint32_t n_past,
                        uint32_t n_tokens)
{
    const struct glinfer_generate_params *params = run->params;
    const struct glinfer_session *session = run->session;
    struct gi_step_state state = {
        .token = token,
        .n_past = n_past,
        .n_tokens = n_tokens,
        .step = run->n_submitted,
        .epoch = session->epoch,
        .max_steps = run->max_steps,
        .n_stop = session->n_stop_ids,
        .seed_lo = (uint32_t)params->seed,
        .seed_hi = (uint32_t)(params->seed >> 32),
        .top_k = params->top_k,
        .n_probs = params->n_probs,
        .temperature = params->temperature,
        .top_p = params->top_p > 0.0f && params->top_p < 1.0f ? params->top_p : 1.0f,
        .min_p = params->min_p,
        .ban_stop = params->ignore_eos,
    };
    for (uint32_t i = 0; i < session->n_stop_ids; i++) {
        state.stop[i] = (uint32_t)session->stop_ids[i];
    }
    return write_range(run, GI_SESSION_STATE, &state, sizeof(state));
}

//-- chains --------------------------------------------------------------------------------------

// Asks for the ring's entries of a chain that was submitted.
static bool close_chain(struct generation *run, uint32_t n_steps,
                        const struct gi_persistent *persistent)
{
    struct gi_readback *readback = &run->session->readbacks[run->next_chain];
    const struct gi_range *ring = &run->session->ranges[GI_SESSION_RING];
    const uint32_t begin = run->n_submitted % GI_RING_SLOTS;
    const uint32_t left = GI_RING_SLOTS - begin;
    const uint32_t head = n_steps < left ? n_steps : left;
    const uint64_t entry = sizeof(struct gi_ring_entry);
    gi_readback_begin(readback);
    gi_readback_add(readback, gpu_of(run), ring->buffer, ring->offset + begin * entry,
                    head * entry);
    if (head < n_steps) {
        gi_readback_add(readback, gpu_of(run), ring->buffer, ring->offset,
                        (n_steps - head) * entry);
    }
    if (persistent) {
        const struct gi_range fault = gi_persistent_fault(persistent);
        gi_readback_add(readback, gpu_of(run), fault.buffer, fault.offset, fault.size);
    }
    if (!gi_readback_end(readback, gpu_of(run), run->err)) {
        return false;
    }
    run->chains[run->next_chain] = (struct chain){run->n_submitted, n_steps, persistent};
    run->next_chain = (run->next_chain + 1) % GI_CHAINS_IN_FLIGHT;
    run->n_chains++;
    run->n_submitted += n_steps;
    if (n_steps > run->stats->chain_length) {
        run->stats->chain_length = n_steps;
    }
    return true;
}

// Steps that the next chain takes: as asked for, or as many as fit the time budget; the first chains are
// short, so that the first token is not held back while a long one is submitted.
static uint32_t choose_length(const struct generation *run)
{
    enum { LONGEST = 64 };
    const struct glinfer_session *session = run->session;
    uint64_t length = session->chain_length;
    if (length == 0) {
        length = session->step_ns ? session->budget_ns / session->step_ns : 1;
        length = length < 1 ? 1 : length > LONGEST ? LONGEST : length;
    }
    const uint32_t left = run->max_steps - run->n_submitted;
    const uint32_t ramp = 2 * run->n_submitted;
    length = length < ramp ? length : ramp;
    return length < left ? (uint32_t)length : left;
}

// As many dispatches as keep each of them within the time budget, however long the chain.
static void replay_persistent(const struct generation *run, struct gi_persistent *persistent,
                              uint32_t n_steps)
{
    const struct glinfer_session *session = run->session;
    const uint32_t most = gi_persistent_max_steps(persistent, session->step_ns, session->budget_ns);
    for (uint32_t done = 0, n; done < n_steps; done += n) {
        n = n_steps - done < most ? n_steps - done : most;
        gi_persistent_replay(persistent, n);
    }
}

static bool submit_chain(struct generation *run)
{
    struct gi_persistent *persistent = run->session->persistent[run->end];
    const uint32_t n_steps = choose_length(run);
    if (persistent) {
        replay_persistent(run, persistent, n_steps);
        return close_chain(run, n_steps, persistent);
    }
    for (uint32_t i = 0; i < n_steps; i++) {
        const struct gi_replay replay = {.n_past = run->base + run->n_submitted - 1 + i,
                                         .n_tokens = 1};
        gi_dispatch_table_replay(run->session->step[run->end], &replay);
    }
    return close_chain(run, n_steps, NULL);
}

//-- the prompt ----------------------------------------------------------------------------------

// Tokens of the next batch: all that is allowed where the time is not known yet on a big GPU, few on a
// slow device, and later as many as keep its longest dispatch within the budget.
static uint32_t choose_batch(const struct generation *run)
{
    enum { FIRST_ON_SLOW = 64 };
    const struct glinfer_session *session = run->session;
    uint64_t most = session->n_batch;
    if (session->prompt_token_ns > 0) {
        const uint64_t n_long =
            3ull * session->model->facts.n_layer; // dispatches that share the time
        const uint64_t fit = session->budget_ns * n_long / session->prompt_token_ns;
        most = fit < most ? fit : most;
    } else if (gi_gpu_class(gpu_of(run)) != GI_GPU_CLASS_SPLIT) {
        most = most < FIRST_ON_SLOW ? most : FIRST_ON_SLOW;
    }
    const uint64_t least = session->n_batch < 8 ? session->n_batch : 8;
    return (uint32_t)(most < least ? least : most);
}

static bool report_prompt(const struct generation *run, uint32_t done)
{
    const struct glinfer_generate_params *params = run->params;
    if (params->progress &&
        !params->progress(params->progress_user, GLINFER_PHASE_PROMPT, done, run->n_prompt)) {
        return gi_error_set(run->err, GLINFER_STATUS_CANCELLED, "the generation was cancelled");
    }
    return check_cancel(run);
}

// Waits for the batch before the last one, and learns from its time.
static bool throttle(struct generation *run, uint32_t index, uint32_t n_tokens, uint64_t *since)
{
    struct glinfer_session *session = run->session;
    struct gi_fence *fence = &session->batch_fences[index % GI_CHAINS_IN_FLIGHT];
    if (!fence->sync) {
        return true;
    }
    const bool ok = gi_fence_wait(gpu_of(run), fence, 0, run->err);
    gi_fence_finish(gpu_of(run), fence);
    const uint64_t now = gi_clock_ns();
    session->prompt_token_ns = (now - *since) / n_tokens;
    *since = now;
    return ok;
}

// Dispatches between flushes, so that a submission keeps to the budget: some kernels' watchdogs count
// per submission.
static uint32_t choose_flush(const struct generation *run, uint32_t n_tokens)
{
    enum { FIRST = 9 };
    const struct glinfer_session *session = run->session;
    const uint64_t batch_ns = session->prompt_token_ns * n_tokens;
    const uint64_t count = gi_dispatch_table_count(session->prompt);
    if (batch_ns == 0) {
        return FIRST;
    }
    const uint64_t fit = count * session->budget_ns / batch_ns;
    return fit < 1 ? 1 : fit > count ? (uint32_t)count : (uint32_t)fit;
}

static bool submit_batch(struct generation *run, const uint32_t *tokens, uint32_t done,
                         uint32_t count)
{
    const struct glinfer_session *session = run->session;
    const struct gi_replay replay = {.n_past = session->n_past + done,
                                     .n_tokens = count,
                                     .flush_interval = choose_flush(run, count)};
    if (!write_range(run, GI_SESSION_TOKENS, tokens + done, count * sizeof(tokens[0])) ||
        !write_state(run, 0, replay.n_past, count)) {
        return false;
    }
    gi_dispatch_table_replay(gi_session_prompt(session, count), &replay);
    return true;
}

static bool submit_batches(struct generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    uint64_t since = gi_clock_ns();
    uint32_t counts[GI_CHAINS_IN_FLIGHT] = {0};
    uint32_t done = 0;
    for (uint32_t index = 0; done < run->n_prompt; index++) {
        uint32_t *count = &counts[index % GI_CHAINS_IN_FLIGHT];
        if (!throttle(run, index, *count, &since)) {
            return false;
        }
        const uint32_t most = choose_batch(run);
        *count = run->n_prompt - done < most ? run->n_prompt - done : most;
        if (!submit_batch(run, tokens, done, *count)) {
            return false;
        }
        done += *count;
        if (done < run->n_prompt &&
            !gi_fence_insert(gpu_of(run), &session->batch_fences[index % GI_CHAINS_IN_FLIGHT],
                             run->err)) {
            return false;
        }
        gi_gpu_flush(gpu_of(run));
        if (!report_prompt(run, done)) {
            return false;
        }
    }
    return true;
}

static void drop_fences(struct generation *run)
{
    for (int i = 0; i < GI_CHAINS_IN_FLIGHT; i++) {
        gi_fence_finish(gpu_of(run), &run->session->batch_fences[i]);
    }
}

// The last row of the prompt's last batch gives the first token. A prompt of one token is a decode step.
static bool submit_prompt(struct generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    struct gi_replay replay = {.n_past = session->n_past, .n_tokens = 1};
    if (!gi_dispatch_table_prime(session->step[run->end], session->n_past, 1, run->err)) {
        return false;
    }
    if (run->n_prompt == 1) {
        if (!write_state(run, tokens[0], session->n_past, 1)) {
            return false;
        }
        gi_dispatch_table_replay(session->step[run->end], &replay);
        return close_chain(run, 1, NULL);
    }
    const bool ok = submit_batches(run, tokens);
    drop_fences(run);
    if (ok) {
        gi_dispatch_table_replay(session->prompt_end[run->end], &replay);
    }
    return ok && close_chain(run, 1, NULL);
}

//-- delivery ------------------------------------------------------------------------------------

static bool is_stop_id(const struct generation *run, uint32_t id)
{
    for (uint32_t i = 0; !run->params->ignore_eos && i < run->session->n_stop_ids; i++) {
        if ((uint32_t)run->session->stop_ids[i] == id) {
            return true;
        }
    }
    return false;
}

// The sentinel: an entry that does not hold what was expected was never written.
static bool check_entry(const struct generation *run, const struct gi_ring_entry *entry,
                        uint32_t step)
{
    if (entry->epoch != run->session->epoch || entry->step != step || entry->status == 0) {
        return gi_error_set(run->err, GLINFER_STATUS_GPU_LOST,
                            "the GPU did not finish step %u (found step %u of generation %u, "
                            "expected generation %u): it was probably reset",
                            step, entry->step, entry->epoch, run->session->epoch);
    }
    if (entry->status != GI_RING_STATUS_OK || entry->token >= run->session->model->facts.n_vocab) {
        return gi_error_set(run->err, GLINFER_STATUS_GPU_FAULT,
                            "the GPU computed something impossible at step %u: %s (token %u)", step,
                            entry->status == GI_RING_STATUS_NAN ? "a logit that is not a number"
                                                                : "a token out of range",
                            entry->token);
    }
    return true;
}

static void finish(struct generation *run, enum glinfer_stop stop)
{
    run->stats->stop = stop;
    run->is_finished = true;
}

static void deliver_text(struct generation *run, int32_t id, struct gi_text text,
                         const struct gi_ring_entry *entry)
{
    struct glinfer_prob probs[GI_MAX_PROBS];
    struct glinfer_token token = {
        .id = id, .text = text.data, .text_size = text.size, .probs = probs};
    for (uint32_t i = 0; entry && i < run->params->n_probs; i++) {
        probs[i] = (struct glinfer_prob){(int32_t)entry->probs[i].id, entry->probs[i].logprob};
        token.n_probs++;
    }
    if (run->n_delivered == 0) {
        run->stats->ttft_ms = (double)(gi_clock_ns() - run->start_ns) / 1e6;
    }
    if (run->params->on_token && !run->params->on_token(run->params->token_user, &token)) {
        finish(run, GLINFER_STOP_CALLBACK);
    }
}

static void deliver(struct generation *run, const struct gi_ring_entry *entry)
{
    const struct gi_tokenizer *tokenizer = run->session->model->tokenizer.core;
    const int32_t id = (int32_t)entry->token;
    run->stats->predicted_n++;
    run->session->pending = id;
    if (is_stop_id(run, entry->token)) {
        finish(run, GLINFER_STOP_EOS);
        return;
    }
    struct gi_text bytes = {NULL, 0};
    if (!gi_tokenizer_is_control(tokenizer, id)) {
        bytes = gi_tokenizer_bytes(tokenizer, id);
    }
    deliver_text(run, id, gi_text_stream_push(&run->text, bytes), entry);
    run->n_delivered++;
    if (run->text.is_stopped) {
        finish(run, GLINFER_STOP_WORD);
    } else if (!run->is_finished && run->stats->predicted_n == run->max_steps) {
        finish(run, GLINFER_STOP_LIMIT);
    }
}

static void learn_time(struct generation *run, const struct chain *chain)
{
    const uint64_t now = gi_clock_ns();
    if (chain->first == 0) {
        run->first_ns = now;
    } else {
        run->session->step_ns = (now - run->last_ns) / chain->n_steps;
    }
    run->last_ns = now;
}

// A persistent chain was given up, and those behind it did nothing: they are dropped, and ordinary ones go
// on from the last token that was delivered.
static bool recover(struct generation *run, const struct chain *chain)
{
    struct glinfer_session *session = run->session;
    for (; run->n_chains > 0; run->n_chains--) {
        const uint32_t slot =
            (run->next_chain + GI_CHAINS_IN_FLIGHT - run->n_chains) % GI_CHAINS_IN_FLIGHT;
        if (!gi_readback_wait(&session->readbacks[slot], gpu_of(run), run->err)) {
            return false;
        }
    }
    gi_log_write(gi_gpu_log(gpu_of(run)), GLINFER_LOG_WARN,
                 "a chain of steps in one dispatch was given up at step %u: its groups did not run "
                 "together; the session goes on without",
                 chain->first);
    gi_session_drop_persistent(session);
    session->epoch++;
    run->n_submitted = chain->first;
    const uint32_t n_past = run->base + chain->first - 1;
    return write_state(run, (uint32_t)session->pending, n_past, 1) &&
           gi_dispatch_table_prime(session->step[run->end], n_past, 1, run->err);
}

static bool is_faulty(const struct chain *chain, const struct gi_ring_entry *entries)
{
    uint32_t fault = 0;
    if (chain->is_persistent) {
        memcpy(&fault, entries + chain->n_steps, sizeof(fault));
    }
    return fault != 0;
}

// Waits for the oldest chain and delivers its tokens.
static bool take_chain(struct generation *run)
{
    const uint32_t slot =
        (run->next_chain + GI_CHAINS_IN_FLIGHT - run->n_chains) % GI_CHAINS_IN_FLIGHT;
    const struct chain chain = run->chains[slot];
    const struct gi_ring_entry *entries =
        gi_readback_wait(&run->session->readbacks[slot], gpu_of(run), run->err);
    if (!entries) {
        return false;
    }
    run->n_chains--;
    if (is_faulty(&chain, entries)) {
        return recover(run, &chain);
    }
    learn_time(run, &chain);
    for (uint32_t i = 0; i < chain.n_steps && !run->is_finished; i++) {
        if (!check_entry(run, &entries[i], chain.first + i)) {
            return false;
        }
        run->session->n_past = run->base + chain.first + i;
        deliver(run, &entries[i]);
    }
    return true;
}

//-- the whole -----------------------------------------------------------------------------------

static bool check_params(const struct glinfer_session *session,
                         const struct glinfer_generate_params *params, struct glinfer_error *err)
{
    const size_t n_vocab = session->model->facts.n_vocab;
    if (params->n_prompt == 0 || !params->prompt) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the prompt has no tokens");
    }
    if (params->n_probs > GI_MAX_PROBS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%u log-probabilities a token are too many: %u are the most",
                            params->n_probs, GI_MAX_PROBS);
    }
    if (isnan(params->temperature) || isnan(params->top_p) || isnan(params->min_p)) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "temperature, top_p or min_p is not a number");
    }
    for (size_t i = 0; i < params->n_prompt; i++) {
        if (params->prompt[i] < 0 || (size_t)params->prompt[i] >= n_vocab) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "prompt token %zu is %d, the vocabulary has %zu", i,
                                params->prompt[i], n_vocab);
        }
    }
    return true;
}

static bool check_fit(const struct glinfer_session *session, size_t n_prompt,
                      struct glinfer_error *err)
{
    const size_t room = session->n_ctx - session->n_past;
    if (n_prompt <= room) {
        return true;
    }
    return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                        "the prompt has %zu tokens, the context of %u has room for %zu: shorten "
                        "it or ask for a larger context",
                        n_prompt, session->n_ctx, room);
}

// The prompt with the token that is pending in front; freed by the caller.
static uint32_t *gather_prompt(const struct glinfer_session *session,
                               const struct glinfer_generate_params *params, uint32_t *n,
                               struct glinfer_error *err)
{
    const size_t n_pending = session->pending != GI_NO_TOKEN;
    const size_t total = params->n_prompt + n_pending;
    if (!check_fit(session, total, err)) {
        return NULL;
    }
    assert(total > 0);
    uint32_t *tokens = malloc(total * sizeof(tokens[0]));
    if (!tokens) {
        gi_error_no_memory(err, total * sizeof(tokens[0]), "the prompt");
        return NULL;
    }
    if (n_pending) {
        tokens[0] = (uint32_t)session->pending;
    }
    for (size_t i = 0; i < params->n_prompt; i++) {
        tokens[n_pending + i] = (uint32_t)params->prompt[i];
    }
    *n = (uint32_t)total;
    return tokens;
}

// The last token needs no place in the cache.
static uint32_t count_steps(const struct generation *run)
{
    const uint32_t room = run->session->n_ctx - run->base + 1;
    const int32_t wanted = run->params->n_predict;
    return wanted < 0 || (uint32_t)wanted > room ? room : (uint32_t)wanted;
}

// A software renderer computes while we submit, so a second chain would only hold the first one back.
static uint32_t count_in_flight(const struct generation *run)
{
    return gi_gpu_platform(gpu_of(run))->is_software ? 1 : GI_CHAINS_IN_FLIGHT;
}

static bool run_to_end(struct generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    if (!check_cancel(run) || !submit_prompt(run, tokens)) {
        return false;
    }
    session->pending = GI_NO_TOKEN;
    session->n_past = run->base;
    if (run->params->n_predict == 0) { // the token is thrown away
        const struct gi_ring_entry *entry =
            gi_readback_wait(&session->readbacks[0], gpu_of(run), run->err);
        return entry && check_entry(run, entry, 0);
    }
    while (!run->is_finished) {
        if (run->n_chains < count_in_flight(run) && run->n_submitted < run->max_steps) {
            if (!submit_chain(run)) {
                return false;
            }
        } else if (!take_chain(run)) {
            return false;
        }
        if (!run->is_finished && !check_cancel(run)) {
            return false;
        }
    }
    const struct gi_text rest = gi_text_stream_flush(&run->text);
    if (rest.size > 0 && run->stats->stop != GLINFER_STOP_CALLBACK) {
        deliver_text(run, GI_NO_TOKEN, rest, NULL);
    }
    return gi_gpu_check(gpu_of(run), "generating", run->err);
}

static uint64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static void fill_stats(struct generation *run, uint64_t waits_before)
{
    struct glinfer_stats *stats = run->stats;
    const struct gi_dispatch_table *step = run->session->step[run->end];
    const uint64_t first = run->first_ns ? run->first_ns : gi_clock_ns();
    stats->prompt_n = run->n_prompt;
    stats->prompt_ms = (double)(first - run->start_ns) / 1e6;
    stats->predicted_ms = run->first_ns ? (double)(run->last_ns - run->first_ns) / 1e6 : 0.0;
    stats->gpu_waits = (uint32_t)(gi_gpu_wait_count(gpu_of(run)) - waits_before);
    stats->dispatches_per_token = gi_dispatch_table_count(step);
    stats->weight_bytes_per_token = gi_dispatch_table_weight_bytes(step);
    stats->n_past = run->session->n_past;
    stats->peak_memory = peak_memory();
}

static struct glinfer_generate_params take_params(const struct glinfer_generate_params *params)
{
    struct glinfer_generate_params own = {0};
    if (params) {
        const size_t size = params->struct_size < sizeof(own) ? params->struct_size : sizeof(own);
        memcpy(&own, params, size);
    }
    return own;
}

static enum gi_step_end choose_end(const struct glinfer_generate_params *params)
{
    if (params->n_probs > 0 || (params->temperature > 0.0f && params->top_k == 0)) {
        return GI_STEP_END_SAMPLE_ALL;
    }
    return params->temperature > 0.0f ? GI_STEP_END_SAMPLE : GI_STEP_END_ARGMAX;
}

static bool generate(struct generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    const struct glinfer_generate_params *params = run->params;
    struct gi_platform_saved saved;
    run->base = session->n_past + run->n_prompt;
    run->max_steps = count_steps(run);
    run->end = choose_end(params);
    session->epoch++;
    if (!gi_text_stream_init(&run->text, params->stop, params->n_stop, session->max_token_size,
                             run->err)) {
        return false;
    }
    if (!gi_gpu_enter(gpu_of(run), &saved, run->err)) {
        return false;
    }
    const uint64_t waits = gi_gpu_wait_count(gpu_of(run));
    const bool ok = run_to_end(run, tokens);
    fill_stats(run, waits);
    gi_gpu_leave(gpu_of(run), &saved);
    return ok;
}

bool glinfer_generate(struct glinfer_session *session, const struct glinfer_generate_params *params,
                      struct glinfer_stats *stats, struct glinfer_error *err)
{
    const struct glinfer_generate_params own = take_params(params);
    struct glinfer_stats full = {.struct_size = sizeof(full)};
    struct generation run = {
        .session = session, .params = &own, .err = err, .stats = &full, .start_ns = gi_clock_ns()};
    if (!check_params(session, &own, err)) {
        return false;
    }
    uint32_t *tokens = gather_prompt(session, &own, &run.n_prompt, err);
    if (!tokens) {
        return false;
    }
    const bool ok = generate(&run, tokens);
    gi_text_stream_finish(&run.text);
    free(tokens);
    if (stats) {
        const size_t known = stats->struct_size;
        memcpy(stats, &full, known < sizeof(full) ? known : sizeof(full));
        stats->struct_size = known;
    }
    return ok;
}
