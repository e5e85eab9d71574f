#include "engine/session/lookup.h"

#include <assert.h>

//-- drafts ----------------------------------------------------------------------------------------

#define LONGEST_MATCH 24    // tokens; longer matches predict no better
#define SPAN          32768 // maximum number of tokens that are searched

// Returns how many tokens before text[at] match the end of text[0..n), at most `most`.
static uint32_t count_match(const uint32_t *text, uint32_t n, uint32_t at, uint32_t most)
{
    uint32_t count = 0;
    while (count < at && count < most && text[at - 1 - count] == text[n - 1 - count]) {
        count++;
    }
    return count;
}

uint32_t gi_lookup_find(const uint32_t *text, uint32_t n, uint32_t n_match, uint32_t most,
                        uint32_t *draft)
{
    const uint32_t first = n > SPAN ? n - SPAN : 0;
    const uint32_t enough = n_match > LONGEST_MATCH ? n_match : LONGEST_MATCH;
    uint32_t longest = n_match - 1, found = 0;
    assert(n_match > 0);
    for (uint32_t at = n > 0 ? n - 1 : 0; at > first && longest < enough; at--) {
        const uint32_t count = count_match(text, n, at, enough);
        if (count > longest) {
            longest = count;
            found = at;
        }
    }
    for (uint32_t i = 0; found > 0 && i < most; i++) {
        draft[i] = found + i < n ? text[found + i] : draft[found + i - n];
    }
    return found > 0 ? most : 0;
}

//-- whether it pays -------------------------------------------------------------------------------

#define WINDOW      16    // drafted tokens in the average `chance`
#define ENTER       1.1F  // speed relative to steps that turns drafts on
#define GO_ON       1.02F // speed relative to steps that keeps drafts on
#define BLANKS      4     // lookups without a draft that turn drafts off
#define FRESH       64    // drafted tokens after which measured times count for less
#define CREDIT      3     // initial allowance for lost time, in steps
#define CREDIT_PART 64    // divisor: part of the time so far that is added to it
#define N_WARM      2     // first drafts of a session, whose times are ignored
#define MOST_SAVED  8     // maximum of saved_ns, in steps

void gi_lookup_init(struct gi_lookup *lookup, struct gi_lookup_times *times, uint32_t n_match,
                    uint32_t most, bool is_always)
{
    assert(most <= GI_MAX_DRAFT);
    *lookup = (struct gi_lookup){.n_match = n_match > 0 ? n_match : GI_DEFAULT_LOOKUP_MATCH,
                                 .most = most,
                                 .is_always = is_always,
                                 .times = times,
                                 .chance = 0.5F};
}

// Returns the time of a batch of n tokens: the measured one of this size or of the next larger
// known size; else that of the largest known size plus a quarter step for each further token.
static float estimate_rows(const struct gi_lookup_times *times, uint32_t n)
{
    uint32_t known = 1;
    float ns = (float)times->step_ns;
    for (uint32_t i = 2; i <= GI_MAX_ROWS; i++) {
        if (times->rows_ns[i] > 0 && i >= n) {
            return (float)times->rows_ns[i];
        }
        if (times->rows_ns[i] > 0) {
            known = i;
            ns = (float)times->rows_ns[i];
        }
    }
    return ns + (float)(n - known) * (float)times->step_ns / 4;
}

// Returns the size of the draft, at most `most` tokens, with the least time per expected token.
// *speed: speed relative to steps.
static uint32_t find_best(const struct gi_lookup *lookup, uint32_t most, float *speed)
{
    float expected = 1, chance = 1;
    uint32_t best = 0;
    *speed = 0;
    for (uint32_t n = 1; n <= most; n++) {
        chance *= lookup->chance;
        expected += chance;
        const float own =
            expected * (float)lookup->times->step_ns / estimate_rows(lookup->times, n + 1);
        if (own > *speed) {
            *speed = own;
            best = n;
        }
    }
    return best;
}

// Returns true if the time lost by drafts is within the allowance.
static bool has_credit(const struct gi_lookup *lookup)
{
    const uint64_t credit = CREDIT * lookup->times->step_ns + lookup->spent_ns / CREDIT_PART;
    return lookup->saved_ns > -(int64_t)credit;
}

// Returns true if a draft of at most `most` tokens is worth computing, and sets its size *n.
static bool pays(const struct gi_lookup *lookup, uint32_t most, uint32_t *n)
{
    float speed;
    *n = most;
    if (lookup->is_always || most == 0) {
        return most > 0;
    }
    if (lookup->times->step_ns == 0 || !has_credit(lookup)) {
        return false;
    }
    *n = find_best(lookup, most, &speed);
    return speed > (lookup->is_on ? GO_ON : ENTER);
}

bool gi_lookup_wants(const struct gi_lookup *lookup)
{
    const uint32_t left = lookup->n_draft - lookup->n_tested;
    uint32_t n;
    return lookup->most > 0 && (lookup->is_on || (left > 0 && pays(lookup, lookup->most, &n)));
}

uint32_t gi_lookup_choose(struct gi_lookup *lookup, const uint32_t *text, uint32_t n, uint32_t most)
{
    most = most < lookup->most ? most : lookup->most;
    uint32_t n_draft = most > 0 ? gi_lookup_find(text, n, lookup->n_match, most, lookup->draft) : 0;
    const bool has_draft = n_draft > 0;
    lookup->n_draft = lookup->n_tested = 0;
    if (has_draft && pays(lookup, n_draft, &n_draft)) {
        lookup->is_on = true;
        lookup->n_blank = 0;
        return n_draft;
    }
    lookup->n_blank++;
    lookup->is_on = lookup->is_on && !has_draft && lookup->n_blank < BLANKS && has_credit(lookup);
    return 0;
}

//-- what happens ----------------------------------------------------------------------------------

static void learn_chance(struct gi_lookup *lookup, bool is_right)
{
    const uint32_t n = lookup->n_seen + 2; // starts with one right and one wrong token
    lookup->chance += ((is_right ? 1 : 0) - lookup->chance) / (float)(n < WINDOW ? n + 1 : WINDOW);
    lookup->n_seen++;
    for (uint32_t i = 2; lookup->n_seen % FRESH == 0 && i <= GI_MAX_ROWS; i++) {
        lookup->times->rows_ns[i] -= lookup->times->rows_ns[i] / 16;
    }
}

void gi_lookup_note(struct gi_lookup *lookup, const uint32_t *text, uint32_t n, uint32_t n_new)
{
    if (lookup->most == 0) {
        return;
    }
    for (uint32_t i = n - n_new; i < n; i++) {
        if (lookup->n_tested < lookup->n_draft) {
            const bool is_right = lookup->draft[lookup->n_tested++] == text[i];
            learn_chance(lookup, is_right);
            lookup->n_draft = is_right ? lookup->n_draft : lookup->n_tested;
        }
        if (lookup->n_tested == lookup->n_draft) {
            lookup->n_tested = 0;
            lookup->n_draft =
                gi_lookup_find(text, i + 1, lookup->n_match, lookup->most, lookup->draft);
        }
    }
}

static void save(struct gi_lookup *lookup, uint64_t n_tokens, uint64_t ns)
{
    const int64_t step_ns = (int64_t)lookup->times->step_ns;
    if (step_ns > 0 && ns > 0) {
        lookup->saved_ns += (int64_t)n_tokens * step_ns - (int64_t)ns;
        lookup->saved_ns =
            lookup->saved_ns < MOST_SAVED * step_ns ? lookup->saved_ns : MOST_SAVED * step_ns;
    }
    lookup->spent_ns += ns;
}

void gi_lookup_learn_draft(struct gi_lookup *lookup, uint32_t n_draft, uint32_t n_right,
                           uint64_t ns)
{
    uint64_t *known = &lookup->times->rows_ns[n_draft + 1];
    ns = lookup->times->n_drafts++ < N_WARM ? 0 : ns;
    for (uint32_t i = 0; i < n_draft && i <= n_right; i++) {
        learn_chance(lookup, i < n_right);
    }
    if (ns > 0) {
        *known = *known == 0 ? ns : ns < *known ? (*known + ns) / 2 : (3 * *known + ns) / 4;
    }
    save(lookup, n_right + 1, ns);
}

void gi_lookup_learn_steps(struct gi_lookup *lookup, uint32_t n_steps, bool is_alone, uint64_t ns)
{
    if (lookup->most == 0 || n_steps == 0) {
        return;
    }
    uint64_t *known = &lookup->times->step_ns;
    if (lookup->is_on && is_alone) {
        save(lookup, n_steps, ns);
        return;
    }
    lookup->spent_ns += ns;
    if (ns > 0) {
        *known = *known == 0 ? ns / n_steps : (3 * *known + ns / n_steps) / 4;
    }
}
