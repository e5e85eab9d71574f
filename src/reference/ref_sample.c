// The choice of a token, and the end of a step: glsl/sample/argmax, top_k, full_bins, full_sample.

#include "glsl/sample/sample_params.h"
#include "gpu/dispatch/joint.h"
#include "ops/sample/sample.h"
#include "reference/reference.h"
#include "sampler/philox.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define N_WORDS(type) (sizeof(type) / sizeof(uint32_t))

uint32_t gi_ref_key(float value)
{
    uint32_t bits;
    value = value == 0 ? 0 : value;
    memcpy(&bits, &value, sizeof(bits));
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

void gi_ref_sort_ids(const float *logits, uint32_t *ids, uint32_t n, uint32_t *room)
{
    uint32_t *from = ids, *to = room;
    for (uint32_t shift = 0; shift < 32; shift += 8) { // a radix sort keeps the order of equal ones
        uint32_t begins[257] = {0};
        for (uint32_t i = 0; i < n; i++) {
            begins[1 + (~gi_ref_key(logits[from[i]]) >> shift & 255)]++;
        }
        for (uint32_t digit = 0; digit < 256; digit++) {
            begins[digit + 1] += begins[digit];
        }
        for (uint32_t i = 0; i < n; i++) {
            to[begins[~gi_ref_key(logits[from[i]]) >> shift & 255]++] = from[i];
        }
        uint32_t *const swapped = from;
        from = to;
        to = swapped;
    }
}

static double mass_of(const float *logits, const uint32_t *ids, uint32_t i)
{
    return exp((double)logits[ids[i]] - (double)logits[ids[0]]);
}

uint32_t gi_ref_filter(const float *logits, const uint32_t *ids, uint32_t n,
                       const struct gi_ref_filter *filter)
{
    double total = 0, sum = 0;
    uint32_t n_kept = 0;
    n = filter->top_k > 0 && filter->top_k < n ? filter->top_k : n;
    if (filter->top_p < 1) {
        for (uint32_t i = n; i-- > 0;) { // the small ones first
            total += mass_of(logits, ids, i);
        }
        while (n_kept < n && (n_kept == 0 || sum < filter->top_p * total)) {
            sum += mass_of(logits, ids, n_kept++);
        }
        n = n_kept;
    }
    while (n > 1 && mass_of(logits, ids, n - 1) < filter->min_p) {
        n--;
    }
    return n;
}

//-- the logits of a step --------------------------------------------------------------------------

// A step before its dispatch.
struct step {
    struct gi_step_state state;
    uint64_t entry; // the word of the ring where its token goes
    const struct gi_grid_slot *grids;
    bool is_sound;
    uint32_t best;       // the first of the largest logits that are not banned
    const float *logits; // (n_vocab)
    uint32_t *ids;       // that may be chosen, in order; NULL: best alone
    uint32_t n, n_all;   // of ids; of tokens that are not banned, as adjust.comp bans too
};

static bool is_stop(const struct gi_step_state *state, uint32_t id)
{
    bool is_stop = false;
    for (uint32_t i = 0; i < state->n_stop; i++) {
        is_stop = is_stop || state->stop[i] == id;
    }
    return is_stop;
}

static bool is_allowed(const struct step *step, uint32_t id)
{
    return !step->state.ban_stop || !is_stop(&step->state, id);
}

static bool is_greedy(const struct step *step)
{
    return !(step->state.temperature > 1e-30f);
}

// Finds the best token as the dispatch does: by the partial results, or by all logits if that token
// is banned.
static void find_best(struct gi_ref *ref, struct step *step)
{
    const struct gi_argmax_params *p = ref->params;
    const void *words = gi_ref_floats(ref, 1, p->partial, 2 * (size_t)p->n_partial);
    uint32_t best_key = 0;
    step->is_sound = true;
    step->best = UINT32_MAX;
    for (uint32_t i = 0; words && i < p->n_partial; i++) {
        const uint32_t id = ((const uint32_t *)words)[2 * (size_t)i + 1];
        const uint32_t key = gi_ref_key(((const float *)words)[2 * (size_t)i]);
        step->is_sound = step->is_sound && (id < p->n_vocab || id == UINT32_MAX - 1);
        if (id < p->n_vocab && (key > best_key || (key == best_key && id < step->best))) {
            best_key = key;
            step->best = id;
        }
    }
    if (step->is_sound && step->best < p->n_vocab && !is_allowed(step, step->best)) {
        step->best = UINT32_MAX;
        for (uint32_t id = 0; id < p->n_vocab; id++) {
            const bool is_better =
                step->best == UINT32_MAX || step->logits[id] > step->logits[step->best];
            step->best = is_allowed(step, id) && is_better ? id : step->best;
        }
    }
    step->is_sound = step->is_sound && step->best < p->n_vocab;
}

// Puts the tokens in order that may be chosen. has_bans: only those that are not banned.
static void sort_tokens(struct gi_ref *ref, struct step *step, bool has_bans)
{
    const struct gi_argmax_params *p = ref->params;
    const size_t n_memory = ref->memory.count;
    step->ids = gi_ref_memory(ref, p->n_vocab, sizeof(*step->ids));
    uint32_t *room = gi_ref_memory(ref, p->n_vocab, sizeof(*room));
    for (uint32_t id = 0; room && id < p->n_vocab; id++) {
        if (!has_bans || is_allowed(step, id)) {
            step->ids[step->n_all++] = id;
            step->n += step->logits[id] > -INFINITY;
        }
    }
    if (room) {
        gi_ref_sort_ids(step->logits, step->ids, step->n_all, room);
    }
    gi_ref_rewind(ref, n_memory + (step->ids != NULL));
}

// Reads a step, and lists what its last dispatch writes, or one before it. has_all: with all
// logits. NULL with has_failed.
static struct step *read_step(struct gi_ref *ref, bool is_last, bool has_all)
{
    const struct gi_argmax_params *p = ref->params;
    struct step *step = gi_ref_memory(ref, 1, sizeof(*step));
    const void *state = gi_ref_floats(ref, 2, 0, N_WORDS(struct gi_step_state));
    const size_t n_grid = GI_MAX_SLOTS * N_WORDS(struct gi_grid_slot);
    ref->kept = step;
    if (ref->has_failed) {
        return NULL;
    }
    memcpy(&step->state, state, sizeof(step->state));
    step->entry = (uint64_t)(step->state.step % GI_RING_SLOTS) * N_WORDS(struct gi_ring_entry);
    if (is_last && gi_ref_define(ref, "HAS_COUNTS")) {
        step->grids = (const void *)gi_ref_floats(ref, 3, 0, n_grid);
    }
    if (has_all || step->state.ban_stop) {
        step->logits = gi_ref_floats(ref, 1, 0, p->n_vocab);
    }
    if (!ref->has_failed) {
        find_best(ref, step);
    }
    if (is_last) {
        gi_ref_expect_written(ref, "entry of the ring", 0, step->entry, 4);
    }
    return ref->has_failed ? NULL : step;
}

// Expects the scratch that is zero between steps to be so; the rest is the dispatch's own.
static void expect_scratch(struct gi_ref *ref)
{
    const struct gi_argmax_params *p = ref->params;
    gi_ref_floats(ref, 1, p->scratch, GI_SAMPLE_ZEROS); // not to be overwritten before
    for (uint32_t i = 0; i < GI_SAMPLE_ZEROS; i++) {
        gi_ref_expect_bits(ref, "zero between steps", 1, p->scratch + i, 0);
    }
}

//-- the end of a step -----------------------------------------------------------------------------

// Expects the grids of the next step, or none after the last (glsl/sample/step.glsl).
static void expect_grids(struct gi_ref *ref, const struct gi_grid_slot *grids, uint32_t n_past,
                         bool is_done)
{
    for (uint32_t i = 0; i < GI_MAX_SLOTS; i++) {
        const uint32_t axis = grids[i].axis_divisor >> 30;
        const uint32_t divisor = grids[i].axis_divisor & 0x3FFFFFFF;
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t most = grids[i].size[k];
            uint32_t count = most;
            if (grids[i].rule != GI_GRID_FIXED && k == axis) {
                count = grids[i].rule == GI_GRID_TOKENS ? 1 : n_past / (divisor ? divisor : 1) + 1;
                count = grids[i].rule == GI_GRID_KEYS && most > 0 && count > most ? most : count;
            }
            gi_ref_expect_bits(ref, "groups of a grid", 3, i * N_WORDS(struct gi_grid_slot) + k,
                               is_done ? 0 : count);
        }
    }
}

void gi_ref_expect_step_end(struct gi_ref *ref, const struct gi_step_state *state,
                            const struct gi_grid_slot *grids, bool is_sound, uint32_t token)
{
    struct gi_step_state next = *state;
    const uint64_t entry = (uint64_t)(next.step % GI_RING_SLOTS) * N_WORDS(struct gi_ring_entry);
    const uint32_t status = is_sound ? GI_RING_STATUS_OK : GI_RING_STATUS_NAN;
    uint32_t words[N_WORDS(struct gi_step_state)];
    gi_ref_expect_bits(ref, "step in the ring", 0, entry + 1, next.step);
    gi_ref_expect_bits(ref, "epoch in the ring", 0, entry + 2, next.epoch);
    gi_ref_expect_bits(ref, "status", 0, entry + 3, status);
    next.done = next.done || !is_sound || next.step + 1 >= next.max_steps ||
                (!next.ban_stop && is_stop(&next, token));
    next.token = token;
    next.n_past += next.n_tokens;
    next.n_tokens = 1;
    next.step++;
    memcpy(words, &next, sizeof(words));
    for (uint32_t i = 0; i < N_WORDS(struct gi_step_state); i++) {
        gi_ref_expect_bits(ref, "step_state", 2, i, words[i]);
    }
    if (grids) {
        expect_grids(ref, grids, next.n_past, next.done);
    }
}

static void expect_end(struct gi_ref *ref, const struct step *step, uint32_t token)
{
    gi_ref_expect_step_end(ref, &step->state, step->grids, step->is_sound, token);
}

static double score_of(const struct step *step, uint32_t id)
{
    const struct gi_step_state *state = &step->state;
    const uint64_t seed = (uint64_t)state->seed_hi << 32 | state->seed_lo;
    const uint32_t position = state->n_past + state->n_tokens + state->n_shifted;
    const double above = (double)step->logits[id] - (double)step->logits[step->ids[0]];
    return above / (double)state->temperature + gi_philox_gumbel(seed, position, id);
}

// Returns how many tokens the filters pass, with the cuts moved by a rounding.
static uint32_t count_passed(const struct step *step, double slack)
{
    const struct gi_step_state *state = &step->state;
    const struct gi_ref_filter filter = {
        .top_k = state->top_k,
        .top_p = state->top_p < 1 ? (double)state->top_p - slack : 1,
        .min_p = state->min_p > 0 ? (double)state->min_p * (1 + slack) : 0,
    };
    return gi_ref_filter(step->logits, step->ids, step->n, &filter);
}

// Expects the token to have the best score of those that the filters pass. f32 may round the cuts
// either way: the fewest that are passed with the token count.
static void expect_sampled(struct gi_ref *ref, const struct step *step, uint32_t token)
{
    const uint32_t a = count_passed(step, 1e-6), b = count_passed(step, -1e-6);
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    double best = -INFINITY, found = NAN;
    uint32_t rank = 0;
    while (rank < high && step->ids[rank] != token) {
        rank++;
    }
    for (uint32_t i = 0; i < low || (i <= rank && i < high); i++) {
        const double score = score_of(step, step->ids[i]);
        best = fmax(best, score);
        found = i == rank ? score : found;
    }
    gi_ref_expect_found(ref, "score of the token", 0, step->entry, 1,
                        (struct gi_ref_value){best, (ref->is_sampled ? 9 : 24) + fabs(best)},
                        found);
}

static void expect_chosen(struct gi_ref *ref)
{
    const struct step *step = ref->kept;
    const uint32_t n_vocab = ((const struct gi_argmax_params *)ref->params)->n_vocab;
    const void *entry = gi_ref_floats(ref, 0, step->entry, 1);
    uint32_t token = entry ? *(const uint32_t *)entry : 0;
    if (!step->is_sound || !step->ids || is_greedy(step)) {
        token = step->is_sound ? step->best : 0;
        gi_ref_expect_bits(ref, "token", 0, step->entry, token);
    } else if (!ref->has_failed) {
        expect_sampled(ref, step, token < n_vocab ? token : 0);
    }
    expect_end(ref, step, token);
}

// Expects a token that is sampled from those that are not banned, or the best of them.
static void expect_choice(struct gi_ref *ref, bool is_best)
{
    struct step *step = read_step(ref, true, !is_best);
    if (step && step->is_sound && !is_best && !is_greedy(step)) {
        sort_tokens(ref, step, true);
    }
    ref->after = expect_chosen;
}

void gi_ref_argmax(struct gi_ref *ref)
{
    expect_choice(ref, true);
}

void gi_ref_full_sample(struct gi_ref *ref)
{
    const struct gi_argmax_params *p = ref->params;
    expect_choice(ref, false);
    expect_scratch(ref);
    gi_ref_add_scratch(ref, 1, p->scratch + GI_SAMPLE_ZEROS + 64,
                       GI_SAMPLE_SCRATCH - GI_SAMPLE_ZEROS - 64);
}

//-- log-probabilities -----------------------------------------------------------------------------

static void expect_probs(struct gi_ref *ref)
{
    const struct gi_argmax_params *p = ref->params;
    struct step *step = read_step(ref, false, true);
    double sum = 0;
    if (!step || !step->is_sound) {
        gi_ref_add_scratch(ref, 0, step ? step->entry + 4 : 0, UINT64_C(2) * GI_MAX_PROBS);
        return;
    }
    sort_tokens(ref, step, false);
    for (uint32_t i = step->n_all; step->ids && i-- > 0;) {
        sum += mass_of(step->logits, step->ids, i);
    }
    ref->roundings = 1;
    for (uint32_t i = 0; step->ids && i < step->state.n_probs && i < p->n_vocab; i++) {
        const uint32_t id = step->ids[i];
        const double value =
            (double)step->logits[id] - (double)step->logits[step->ids[0]] - log(sum);
        const uint64_t at = step->entry + 4 + 2 * (uint64_t)i;
        gi_ref_expect_bits(ref, "likely token", 0, at, id);
        gi_ref_expect_at(ref, "log-probability", 0, at + 1, (struct gi_ref_place){0},
                         (struct gi_ref_value){value, fabs(value)}, 1e-5);
    }
}

void gi_ref_top_k(struct gi_ref *ref)
{
    const struct gi_argmax_params *p = ref->params;
    if (gi_ref_define(ref, "PROBS")) {
        expect_probs(ref);
    } else {
        expect_choice(ref, false);
    }
    expect_scratch(ref);
    gi_ref_add_scratch(ref, 1, p->scratch + GI_SAMPLE_ZEROS, GI_SAMPLE_SCRATCH - GI_SAMPLE_ZEROS);
}

//-- cuts ------------------------------------------------------------------------------------------

enum { N_BIN = 512, BINS_PER_UNIT = 16 };

// The words from GI_SAMPLE_ZEROS of the scratch on, as full_bins leaves them
// (glsl/sample/scratch.glsl).
struct cuts {
    uint32_t key, id; // of the largest logit
    uint32_t first_open, end_open, n_open, count, mass[2], is_exact, share[2];
};

// Tokens in the bins before each.
struct bins {
    uint32_t count[N_BIN + 1];
    double mass[N_BIN + 1];
};

static void count_bins(const struct step *step, uint32_t n_vocab, struct bins *bins)
{
    const float largest = step->logits[step->best];
    for (uint32_t id = 0; id < n_vocab; id++) {
        if (is_allowed(step, id)) {
            const float distance = (largest - step->logits[id]) * BINS_PER_UNIT;
            const uint32_t bin = distance < N_BIN - 1 ? (uint32_t)distance : N_BIN - 1;
            bins->count[bin + 1]++;
            bins->mass[bin + 1] += exp((double)step->logits[id] - (double)largest);
        }
    }
    for (uint32_t bin = 0; bin < N_BIN; bin++) {
        bins->count[bin + 1] += bins->count[bin];
        bins->mass[bin + 1] += bins->mass[bin];
    }
}

// Returns the bin in which the mass reaches a goal; `found` if a rounding may move it there.
static uint32_t find_mass(const struct bins *bins, double goal, uint32_t found)
{
    uint32_t bin = 0;
    if (found < N_BIN && bins->mass[found] * (1 - 1e-6) < goal &&
        goal <= bins->mass[found + 1] * (1 + 1e-6)) {
        return found;
    }
    while (bin < N_BIN - 1 && bins->mass[bin + 1] < goal) {
        bin++;
    }
    return bin;
}

// Expects a mass in units of 2^-44 in two words, of which n_unit may be lost.
static void expect_mass(struct gi_ref *ref, const char *what, uint64_t at, const uint32_t found[2],
                        double want, double n_unit)
{
    const double lost = n_unit * 0x1p-44 / (ref->roundings * (double)FLT_EPSILON);
    gi_ref_expect_found(ref, what, 1, at, 2, (struct gi_ref_value){want, want / 8 + lost},
                        (found[1] + found[0] / 4294967296.0) / 4096);
}

// Sets what the cuts are; *mass: before them, *share: what a cut by mass leaves.
static void find_cuts(const struct step *step, const struct bins *bins, struct cuts *cuts,
                      double *mass, double *share)
{
    const uint32_t top_k = step->state.top_k, found = cuts->first_open;
    const bool has_number = top_k > 0 && top_k < bins->count[N_BIN];
    const bool has_mass = step->state.top_p < 1;
    uint32_t number = 0;
    while (has_number && bins->count[number + 1] < top_k) {
        number++;
    }
    cuts->is_exact = !has_number || bins->count[number + 1] == top_k;
    cuts->end_open = has_number ? number + 1 : N_BIN;
    cuts->first_open = cuts->is_exact ? cuts->end_open : number;
    if (has_mass) {
        *share = fmax((double)step->state.top_p, 0) * bins->mass[cuts->first_open];
        cuts->first_open = find_mass(bins, *share, found);
        cuts->end_open = cuts->is_exact ? cuts->first_open + 1 : cuts->end_open;
        *mass = bins->mass[cuts->first_open];
    }
    cuts->count = has_number || has_mass ? bins->count[cuts->first_open] : 0;
    cuts->n_open = bins->count[cuts->end_open] - bins->count[cuts->first_open];
}

static void expect_cuts(struct gi_ref *ref)
{
    const struct gi_argmax_params *p = ref->params;
    const struct step *step = ref->kept;
    const uint64_t at = (uint64_t)p->scratch + GI_SAMPLE_ZEROS;
    const struct cuts *found = (const void *)gi_ref_floats(ref, 1, at, N_WORDS(*found));
    struct bins *bins = gi_ref_memory(ref, 1, sizeof(*bins));
    struct cuts cuts = {.first_open = N_BIN, .end_open = N_BIN, .is_exact = 1};
    double mass = 0, share = 0;
    uint32_t words[N_WORDS(struct cuts)];
    if (ref->has_failed) {
        return;
    }
    cuts.key = step->is_sound ? gi_ref_key(step->logits[step->best]) : found->key;
    cuts.id = step->is_sound ? step->best : UINT32_MAX;
    if (step->is_sound && !is_greedy(step)) {
        count_bins(step, p->n_vocab, bins);
        cuts.first_open = found->first_open;
        find_cuts(step, bins, &cuts, &mass, &share);
    }
    memcpy(words, &cuts, sizeof(words));
    for (uint32_t i = 0; i < N_WORDS(struct cuts); i++) {
        if (i < offsetof(struct cuts, mass) / 4 || i == offsetof(struct cuts, is_exact) / 4) {
            gi_ref_expect_bits(ref, i < 2 ? "key, id of the largest" : "cuts", 1, at + i, words[i]);
        }
    }
    expect_mass(ref, "mass before the cuts", at + offsetof(struct cuts, mass) / 4, found->mass,
                mass, cuts.count);
    expect_mass(ref, "mass that the cuts leave", at + offsetof(struct cuts, share) / 4,
                found->share, share, 1 + (double)step->state.top_p * bins->count[N_BIN]);
}

void gi_ref_full_bins(struct gi_ref *ref)
{
    const struct gi_argmax_params *p = ref->params;
    read_step(ref, false, true);
    expect_scratch(ref);
    gi_ref_expect_written(ref, "cuts", 1, (uint64_t)p->scratch + GI_SAMPLE_ZEROS,
                          N_WORDS(struct cuts));
    ref->after = expect_cuts;
}
