// token drawn from the logits under the settings in step_state (see ops/sample/sample.h), and the n_probs
// largest log-probabilities. With ban_stop the log-probabilities are still those of all, the token is
// chosen among those that are no stop ids, in a second round.
//
//   ring    GI_RING_SLOTS entries                 (binding 0, written)
//   logits  (n_vocab) f32, then (n_partial) of { f32 value, uint id } at word `partial`,
//           with sample_few what that writes at word `choice_at`  (binding 1)
//   step_state                                    (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                    (binding 3, rewritten, with HAS_COUNTS)
//
// One group, which takes the choice of sample_few if that made one. Else the logits, or where top_k alone
// says what matters, the largest of the parts that gemv_vocab leaves, are read once for a histogram of
// their distance from the maximum; the logits once more to gather those that can matter into shared
// memory, where the filters are then applied exactly; only where more than 1,024 can matter are they
// read again for each step of a selection. The draw: sample/draw.glsl.
//
// A task is one pass over the elements. Each kind of pass and of conclusion is called from one place
// in one loop over the tasks: compilers put functions in place, and with a pass wherever it was
// wanted some took more than a minute.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#ifndef HAS_COUNTS
#error "HAS_COUNTS: 1 if the table is indirect"
#endif
#include "lib/common.glsl"
#include "sample/step.glsl"
#include "sample/best.glsl"
#include "sample/logits.glsl"
#include "lib/exp_log.glsl"
#include "sample/philox.glsl"
#include "sample/mass.glsl"
#include "sample/draw.glsl"
#include "sample/select.glsl"

layout(local_size_x = WG_SIZE) in;

// In their order; those that are not wanted are left out.
#define TASK_COUNT 0u        // bins of all: how many the list would hold by number
#define TASK_COUNT_MASS 1u   // by mass, without another pass
#define TASK_LIST 2u         // gather the list
#define TASK_PROBS 3u        // select n_probs of all
#define TASK_RANK 4u         // gather and write them
#define TASK_TOP_K 5u        // select top_k
#define TASK_TOP_P 6u        // select top_p of these
#define TASK_DRAW 7u         // draw from these
#define TASK_END 8u

// Equal in all invocations.
uint task;
Span span;
uvec2 goal;      // of the selection
uvec2 mass;      // of the whole vocabulary
uint list_bin;   // the last bin that the list needs
uint list_count; // elements up to it
bool is_listed;  // elements come from the list
bool is_pruned;  // what is counted first are the largest of the vocabulary's parts, not all elements
uint n_element;  // of the logits or of the list
uint n_probs, top_k; // 0: not wanted
float top_p;         // 1: not wanted
bool is_greedy, needs_mass;
bool has_bans; // stop ids are left out
float lowest; // logit - max that min_p lets pass

uint best_drawn = 0u, id_drawn = NO_ID; // this invocation's

// What is wanted of a round. With bans the first has the log-probabilities, the second the rest.
void read_settings(bool is_first_of_two)
{
    is_greedy = is_first_of_two || !is_drawn();
    n_probs = has_bans ? 0u : min(min(state.n_probs, MAX_PROBS), n_vocab);
    top_k = is_greedy ? 0u : wanted_top_k(has_bans);
    top_p = is_greedy ? 1.0 : wanted_top_p();
    needs_mass = n_probs > 0u || (top_p < 1.0 && top_k == 0u);
    lowest = lowest_drawn();
}

//-- elements --------------------------------------------------------------------------------------

void draw_element(uint key, uint id)
{
    uint score_key = draw_key(value_of(key) - max_logit, lowest, id);
    if (is_better(score_key, id, best_drawn, id_drawn)) {
        best_drawn = score_key;
        id_drawn = id;
    }
}

// An element of the logits, of the list, or of the parts' largest. A banned one has the id NO_ID.
uvec2 read_element(uint i)
{
    uint at = min(i, N_LIST - 1u);
    uvec2 element = is_listed ? uvec2(list_key[at], list_id[at]) : uvec2(key_of(logits[i]), i);
    if (is_pruned && task == TASK_COUNT) {
        element = uvec2(key_of(logits[partial + 2u * i]), logits[partial + 2u * i + 1u]);
    }
    return has_bans && is_stop_id(element.y) ? uvec2(element.x, NO_ID) : element;
}

bool is_candidate(uvec2 element, uint bin)
{
    return element.y != NO_ID && is_kept(bin, element.x, element.y);
}

// The loops over all elements have none inside: llvmpipe ends all loops of a program after 65,535
// turns together.
void count_all()
{
    bool has_mass = task == TASK_TOP_P || (task == TASK_COUNT && needs_mass);
    for (uint i = gl_LocalInvocationIndex; i < n_element; i += uint(WG_SIZE)) {
        uvec2 element = read_element(i);
        uint bin = bin_of(element.x);
        if (is_candidate(element, bin)) {
            count_element(span, bin, element.x, element.y, has_mass);
        }
    }
}

void gather_all()
{
    for (uint i = gl_LocalInvocationIndex; i < n_element; i += uint(WG_SIZE)) {
        uvec2 element = read_element(i);
        uint bin = bin_of(element.x);
        if (is_candidate(element, bin) && (task == TASK_RANK || bin <= list_bin)) {
            uint at = atomicAdd(n_appended, 1u);
            if (task == TASK_RANK) {
                bin_count[min(at, N_BIN - 1u)] = element.x;
                bin_mass_lo[min(at, N_BIN - 1u)] = element.y;
            } else {
                list_key[min(at, N_LIST - 1u)] = element.x;
                list_id[min(at, N_LIST - 1u)] = element.y;
            }
        }
    }
}

void draw_all()
{
    for (uint i = gl_LocalInvocationIndex; i < n_element; i += uint(WG_SIZE)) {
        uvec2 element = read_element(i);
        if (is_candidate(element, bin_of(element.x))) {
            draw_element(element.x, element.y);
        }
    }
}

//-- tasks -----------------------------------------------------------------------------------------

bool is_wanted(uint which)
{
    bool has_list = list_count <= N_LIST;
    return which == TASK_COUNT_MASS ? top_k == 0u && top_p < 1.0
           : which == TASK_LIST     ? has_list
           : which <= TASK_RANK     ? n_probs > 0u
           : which == TASK_TOP_K    ? top_k > 0u
           : which == TASK_TOP_P    ? top_p < 1.0
           : which == TASK_DRAW     ? !is_greedy
                                    : true;
}

void next_task()
{
    do {
        task++;
    } while (task < TASK_END && !is_wanted(task));
    span = whole_span();
    goal = uvec2(task == TASK_PROBS ? n_probs : top_k, 0u);
    // The list holds all that log-probabilities need, and all that a filter lets pass.
    if (task > TASK_RANK && top_k == 0u && !(top_p < 1.0)) {
        is_listed = false;
        n_element = n_vocab;
    }
}

// Ranks the elements that were gathered and writes their log-probabilities.
void write_probs()
{
    float log_mass = log_positive(mass_value(mass));
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_probs; i += uint(WG_SIZE)) {
        uint rank = 0u;
        for (uint j = 0u; j < n_probs; j++) {
            rank += is_better(bin_count[j], bin_mass_lo[j], bin_count[i], bin_mass_lo[i]) ? 1u : 0u;
        }
        float logprob = (value_of(bin_count[i]) - max_logit) - log_mass;
        ring[state.step % RING_SLOTS].probs[min(rank, MAX_PROBS - 1u)] =
            uvec2(bin_mass_lo[i], floatBitsToUint(logprob));
    }
    reset_cut();
}

// What the passes that count lead to.
void conclude()
{
    bool is_by_mass = task == TASK_COUNT_MASS || task == TASK_TOP_P;
    if (task == TASK_COUNT) {
        mass = total_mass();
        goal = uvec2(max(max(top_k, n_probs), 1u), 0u);
    } else if (is_by_mass && span.level == LEVEL_BINS) {
        goal = mass_share(task == TASK_TOP_P && top_k > 0u ? total_mass() : mass, top_p);
    }
    Crossing at = find_crossing(is_by_mass, goal);
    goal = at.rest;
    if (task <= TASK_COUNT_MASS) {
        if (task == TASK_COUNT || at.bin > list_bin) {
            list_bin = at.bin;
            list_count = is_pruned ? 0u : at.before + at.count;
        }
        n_element = n_vocab;
        next_task();
    } else if (narrow(span, at, at.count <= 1u || (!is_by_mass && at.count == goal.x))) {
        next_task();
    }
}

// Begins to look for the bins that hold what is wanted. What is no less than the top_k-th of the parts'
// largest is top_k elements at least, and few more.
void begin_count(bool prunes)
{
    is_pruned = prunes;
    n_element = prunes ? n_partial : n_vocab;
    task = TASK_COUNT;
    span = whole_span();
}

void run_task()
{
    if (task != TASK_COUNT_MASS) {
        clear_bins();
        if (task == TASK_DRAW) {
            draw_all();
        } else if (task == TASK_LIST || task == TASK_RANK) {
            gather_all();
        } else {
            count_all();
        }
        sum_chunks();
    }
    if (task == TASK_LIST) {
        if (n_appended <= N_LIST && (!is_pruned || n_appended >= top_k)) {
            n_element = n_appended;
            is_listed = true;
            next_task();
        } else { // the parts' largest say too little: count all
            begin_count(false);
        }
    } else if (task == TASK_RANK) {
        write_probs();
        next_task();
    } else if (task == TASK_DRAW) {
        next_task();
    } else {
        conclude();
    }
}

// One round of tasks over all elements but the banned, the largest of which has this key.
void run_round(uint largest, bool is_first_of_two)
{
    max_logit = value_of(largest);
    n_element = n_vocab;
    is_listed = false;
    list_count = NO_ID;
    read_settings(is_first_of_two);
    begin_count(top_k > 0u && !needs_mass && top_k <= n_partial);
    task = needs_mass || top_k > 0u ? TASK_COUNT : is_greedy ? TASK_END : TASK_DRAW;
    n_element = task == TASK_COUNT ? n_element : n_vocab;
    for (uint i = 0u; i < bound(64u) && task != TASK_END; i++) {
        run_task();
    }
}

void main()
{
    uint key, id, token = choice_at > 0u ? logits[choice_at] : NO_ID;
    bool is_sound = true;
    if (token == NO_ID) { // the same in all invocations
        is_sound = find_largest(key, id);
        uint n_round = state.ban_stop != 0u ? 2u : 1u;
        for (uint round = 0u; is_sound && round < n_round; round++) {
            has_bans = round == 1u;
            if (has_bans && is_stop_id(id)) {
                is_sound = find_largest_allowed(key, id);
            }
            if (is_sound) {
                run_round(key, n_round == 2u && !has_bans);
            }
        }
        find_best(best_drawn, id_drawn);
        token = is_greedy ? id : id_drawn;
    }
    is_sound = is_sound && token < n_vocab;
    step_advance(is_sound ? token : 0u, is_sound ? STATUS_OK : STATUS_NAN);
}
