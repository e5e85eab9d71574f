#include "engine/answer/joint_run.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/round.h"
#include "engine/answer/adjust.h"
#include "engine/session/joint_times.h"
#include "engine/session/session_group.h"
#include "engine/session/step_executors.h"
#include "gpu/device/fence.h"

#include <stdlib.h>

struct gi_joint_run {
    struct gi_owned owned;
    struct gi_session_group *group; // borrowed
    struct gi_runner runner;
    struct gi_joint_executors *executors;
    uint32_t n_rows;
    struct gi_step_state written; // the list's own, without unused fields
    // The chain that is being submitted, by one call or several.
    struct gi_executor *executor; // borrowed; NULL: no open chain
    struct gi_joint_place place;  // excludes answers that left
    struct gi_replay_cursor cursor;
    uint32_t n_past, n_steps;
    bool is_boxed;
    uint64_t begin_ns; // time of the clock
    struct gi_joint_times times;
    // The latest retired chain.
    struct gi_landing landing;
    uint32_t untaken; // bit set of slots whose answers have not read it
};

static uint32_t bit_of(const struct gi_answer *answer)
{
    return 1u << answer->session->slot;
}

static struct gi_joint_run *joint_of(const struct gi_answer *answer)
{
    return answer->session->group->run;
}

//-- life ------------------------------------------------------------------------------------------

static void destroy(struct gi_owned *owned)
{
    struct gi_joint_run *joint = (struct gi_joint_run *)owned;
    joint->group->run = NULL;
    gi_joint_executors_destroy(joint->executors);
    gi_runner_finish(&joint->runner);
    free(joint);
}

// Creates group->run if it does not exist, and returns it; NULL on failure.
static struct gi_joint_run *open_run(struct gi_session_group *group, struct glinfer_error *err)
{
    const struct gi_slot_array *rings = &group->arrays[GI_SESSION_RING];
    if (group->run) {
        return group->run;
    }
    struct gi_joint_run *joint = gi_array_zeroed(1, sizeof(*joint), "joint steps", err);
    if (!joint) {
        return NULL;
    }
    joint->group = group;
    group->run = joint;
    gi_owned_add(&group->owned, &joint->owned, destroy);
    joint->executors = gi_joint_executors_create(group, &joint->runner, err);
    if (!joint->executors ||
        !gi_runner_init_joint(&joint->runner, group->model->device->gpu,
                              gi_joint_tables_state(&group->joint), rings->range, group->n_slots,
                              rings->stride, err)) {
        gi_owned_destroy(&group->owned, &joint->owned);
    }
    return group->run;
}

// Returns the answer of glinfer_begin in a slot; NULL: none.
static struct gi_answer *find_answer(const struct gi_session_group *group, uint32_t slot)
{
    const struct glinfer_session *session = group->sessions[slot];
    return session ? session->answer : NULL;
}

// Returns an end that serves all answers of a bit set of slots.
static enum gi_step_end choose_end(const struct gi_session_group *group, uint32_t set)
{
    enum gi_step_end end = GI_STEP_END_GREEDY;
    for (uint32_t i = 0; i < group->n_slots; i++) {
        const struct gi_answer *answer = find_answer(group, i);
        end = answer && (set >> i & 1) ? gi_joint_end(end, answer->end) : end;
    }
    return end;
}

bool gi_joint_run_prepare_session(struct glinfer_session *session, enum gi_step_end end,
                                  bool is_patient, glinfer_progress_fn progress, void *user,
                                  struct glinfer_error *err)
{
    struct gi_session_group *group = session->group;
    // Recurrent kernels support one sequence, so their answers take turns.
    if (group->n_slots == 1 || gi_has_recurrence(&group->model->hparams)) {
        return true;
    }
    if (!open_run(group, err) ||
        !gi_joint_tables_prepare(&group->joint, 1u << session->slot, end, err)) {
        return false;
    }
    group->run->written = (struct gi_step_state){0};
    return gi_joint_executors_prepare(group->run->executors, session, end, is_patient, progress,
                                      user, err);
}

bool gi_joint_run_prepare(struct gi_answer *answer)
{
    struct gi_session_group *group = answer->session->group;
    bool ok =
        gi_joint_run_prepare_session(answer->session, answer->end, false, answer->params.progress,
                                     answer->params.progress_user, &answer->err);
    // The end of any set of answers is that of one of its pairs.
    for (uint32_t i = 0; ok && group->run && i < group->n_slots; i++) {
        const struct gi_answer *other = find_answer(group, i);
        ok = !other || gi_joint_tables_prepare(&group->joint, bit_of(answer) | 1u << i,
                                               gi_joint_end(other->end, answer->end), &answer->err);
    }
    return ok;
}

//-- who takes part --------------------------------------------------------------------------------

// Returns the bit set of slots in chains that are submitted or open, and not retired.
static uint32_t find_members(const struct gi_joint_run *joint)
{
    return gi_runner_joint_slots(&joint->runner) | (joint->executor ? joint->place.live : 0);
}

static bool has_untaken(const struct gi_answer *answer)
{
    return (joint_of(answer)->untaken & bit_of(answer)) != 0;
}

// Returns true if an answer decodes: its first step was submitted, and it may have more.
static bool is_decoding(const struct gi_answer *answer)
{
    return answer && gi_answer_is_stepped(answer) && answer->n_submitted > 0 &&
           !gi_answer_is_finished(answer);
}

static bool has_company(const struct gi_answer *answer)
{
    const struct gi_session_group *group = answer->session->group;
    bool has_others = false;
    for (uint32_t i = 0; i < group->n_slots; i++) {
        const struct gi_answer *other = find_answer(group, i);
        has_others = has_others || (other != answer && is_decoding(other));
    }
    return has_others;
}

// Returns true if all answers that decode have steps of one dispatch, and a step of each in turn is
// no slower than a joint step: one of many dispatches and one row while joint ones are not timed.
static bool are_turns_faster(const struct gi_joint_run *joint)
{
    uint64_t turns_ns = 0, joint_ns = 0;
    for (uint32_t i = 0; i < joint->group->n_slots; i++) {
        const struct gi_answer *answer = find_answer(joint->group, i);
        uint64_t multi_ns, one_ns;
        if (!is_decoding(answer)) {
            continue;
        }
        if (!gi_step_executors_is_one(answer->session, gi_answer_step_kind(answer), &multi_ns,
                                      &one_ns)) {
            return false;
        }
        turns_ns += one_ns;
        joint_ns = multi_ns > joint_ns ? multi_ns : joint_ns;
    }
    const uint64_t known_ns = gi_joint_times_shared(&joint->times, gi_clock_ns());
    return turns_ns <= (known_ns ? known_ns : joint_ns);
}

// Returns true if the next chain of an answer is to be a joint one: in f32 always, so that no bit
// depends on other answers, in f16 if others decode, too, and turns are not faster.
static bool is_joint_next(const struct gi_answer *answer)
{
    const struct gi_joint_run *joint = joint_of(answer);
    return !joint->group->joint.is_refused && (!answer->session->tables.recorder.is_half ||
                                               (has_company(answer) && !are_turns_faster(joint)));
}

// Returns true also while the answer has joint chains in flight or untaken, which it finishes.
bool gi_joint_run_suits(const struct gi_answer *answer)
{
    const struct gi_joint_run *joint = joint_of(answer);
    return joint && is_decoding(answer) && !answer->logits_ns && // its own step is partly submitted
           (has_untaken(answer) || (find_members(joint) & bit_of(answer)) != 0 ||
            is_joint_next(answer));
}

// Returns true if an answer has undelivered tokens or an unread chain.
static bool is_behind(const struct gi_answer *answer)
{
    return is_decoding(answer) && (answer->next < answer->n_live || has_untaken(answer));
}

static bool is_any_behind(const struct gi_joint_run *joint)
{
    bool is_any = false;
    for (uint32_t i = 0; i < joint->group->n_slots; i++) {
        const struct gi_answer *answer = find_answer(joint->group, i);
        is_any = is_any || (answer && is_behind(answer));
    }
    return is_any;
}

// Returns true if an answer can take part in a chain that begins now, or after its own chains.
static bool is_ready(const struct gi_answer *answer)
{
    return is_decoding(answer) && !answer->open.executor && !answer->has_failed &&
           answer->n_submitted < answer->max_steps && answer->state == GI_ANSWER_DECODES &&
           gi_clock_ns() >= answer->clock.rest_until &&
           !(gi_answer_needs_tokens(answer) && is_behind(answer)) && !answer->logits_ns &&
           is_joint_next(answer);
}

// Returns the bit set of slots for a chain that begins now; 0: wait for an answer or the GPU. An
// answer that only awaits a chain of its own is waited for: answers that begin together end so.
static uint32_t choose_slots(const struct gi_joint_run *joint)
{
    const struct gi_session_group *group = joint->group;
    bool is_alone = gi_gpu_platform(joint->runner.gpu)->is_software, is_awaited = false;
    uint32_t set = 0;
    for (uint32_t i = 0; i < group->n_slots; i++) {
        const struct gi_answer *answer = find_answer(group, i);
        if (is_decoding(answer)) {
            const bool is_near = answer->session->runner.n_flights > 0;
            const bool is_member = is_ready(answer);
            is_awaited = is_awaited || (is_near && is_member && !is_behind(answer));
            is_alone =
                is_alone || answer->session->gpu_duty < 100 || gi_answer_needs_tokens(answer);
            set |= (uint32_t)(is_member && !is_near) << i;
        }
    }
    const bool is_full = joint->runner.n_flights >= (is_alone ? 1 : GI_CHAINS_IN_FLIGHT);
    const bool waits = is_full || is_awaited || (is_alone && is_any_behind(joint));
    return waits || group->joint.is_refused ? 0 : set;
}

//-- submitting ------------------------------------------------------------------------------------

// Returns the steps of a chain: the least that any of its answers would take on its own.
static uint32_t choose_length(const struct gi_joint_run *joint)
{
    const struct gi_runner *runner = &joint->runner;
    const uint64_t fit = runner->step_ns ? runner->budget_ns / runner->step_ns : 1;
    uint32_t n = fit < 1 ? 1 : fit > GI_MAX_JOINT_CHAIN ? GI_MAX_JOINT_CHAIN : (uint32_t)fit;
    bool is_asked = false;
    for (uint32_t i = 0; i < joint->group->n_slots; i++) {
        const struct gi_answer *answer = find_answer(joint->group, i);
        if (!(joint->place.live >> i & 1)) {
            continue;
        }
        const uint32_t asked = answer->session->chain_length;
        n = asked == 0 ? n : gi_min_u32(is_asked ? n : GI_MAX_JOINT_CHAIN, asked);
        is_asked = is_asked || asked > 0;
        n = gi_min_u32(n, gi_answer_needs_tokens(answer) ? 1 : 2 * answer->n_submitted);
        n = gi_min_u32(n, answer->max_steps - answer->n_submitted);
    }
    return n;
}

// Writes the number of rows and the participating slots to the list's step_state if they changed.
static bool write_rows(struct gi_joint_run *joint, struct glinfer_error *err)
{
    const struct gi_step_state state = {.token = joint->place.live, .n_tokens = joint->n_rows};
    const bool is_written =
        joint->written.token == state.token && joint->written.n_tokens == state.n_tokens;
    const bool ok = is_written || gi_runner_write(&joint->runner, &state, err);
    joint->written = ok ? state : joint->written;
    return ok;
}

// Writes the masks of answers with a grammar. Returns the set without the answers whose mask
// failed, which report the error in their own turn.
static uint32_t write_masks(const struct gi_joint_run *joint, uint32_t set)
{
    for (uint32_t i = 0; i < joint->group->n_slots; i++) {
        if (set >> i & 1) {
            struct gi_answer *answer = find_answer(joint->group, i);
            answer->has_failed = !gi_adjust_write_mask(answer);
            set &= ~((uint32_t)answer->has_failed << i);
        }
    }
    return set;
}

// Begins a chain of the answers in a set, which submit_open then submits. Begins no chain if joint
// steps turn out to be refused. `turn` receives errors.
static bool begin(struct gi_joint_run *joint, uint32_t set, struct gi_answer *turn)
{
    struct gi_session_group *group = joint->group;
    struct gi_runner *runner = &joint->runner;
    joint->place.live = set;
    joint->executor =
        gi_joint_executors_find(joint->executors, set, choose_end(group, set), &turn->err);
    if (!joint->executor) {
        return group->joint.is_refused;
    }
    bool ok = true;
    joint->n_past = 0;
    joint->n_rows = gi_joint_tables_rows(&group->joint, set);
    runner->step_ns = joint->times.step_ns[gi_joint_is_lone(set)];
    runner->budget_ns = UINT64_MAX;
    for (uint32_t i = 0; ok && i < group->n_slots; i++) {
        struct gi_answer *answer = find_answer(group, i);
        if (!(set >> i & 1)) {
            continue;
        }
        const uint32_t n_past = answer->base + answer->n_submitted - 1;
        const uint64_t budget_ns = answer->session->runner.budget_ns;
        joint->place.n_past[i] = n_past;
        joint->place.first[i] = answer->n_submitted;
        joint->n_past = n_past > joint->n_past ? n_past : joint->n_past;
        gi_runner_set_budget(runner, budget_ns < runner->budget_ns ? budget_ns : runner->budget_ns);
        answer->session->runner.last = NULL; // invalidates its single-sequence step_state
        ok = gi_answer_write_input(answer);
        turn->err = ok ? turn->err : answer->err;
    }
    joint->n_steps = choose_length(joint);
    joint->is_boxed = runner->step_ns == 0 || runner->step_ns > runner->budget_ns;
    joint->begin_ns = gi_clock_ns();
    joint->cursor = (struct gi_replay_cursor){0};
    return ok && gi_time_box_reserve(&runner->box, group->model->device->programs, &turn->err);
}

// Records a submitted chain, and requests the logits of answers whose tokens the host chooses.
static void book(struct gi_joint_run *joint)
{
    for (uint32_t i = 0; i < joint->group->n_slots; i++) {
        struct gi_answer *answer = find_answer(joint->group, i);
        if (!(joint->place.live >> i & 1)) {
            continue;
        }
        const struct gi_range logits = gi_joint_tables_logits(&joint->group->joint, i);
        answer->n_submitted += joint->n_steps;
        answer->stats.chain_length = joint->n_steps > answer->stats.chain_length
                                         ? joint->n_steps
                                         : answer->stats.chain_length;
        answer->has_failed = !gi_host_sample_request(answer, &logits);
    }
    joint->executor = NULL;
}

static bool submit_open(struct gi_joint_run *joint, struct gi_answer *answer)
{
    struct gi_runner *runner = &joint->runner;
    struct gi_gpu *gpu = runner->gpu;
    const struct gi_chain chain = {.n_past = joint->n_past,
                                   .n_tokens = joint->n_rows,
                                   .n_steps = joint->n_steps,
                                   .begin_ns = joint->begin_ns,
                                   .box = joint->is_boxed ? &runner->box : NULL,
                                   .cursor = &joint->cursor,
                                   .joint = &joint->place};
    gi_gpu_watch(gpu, NULL); // one answer's cancellation must not stop the others
    const bool ok = write_rows(joint, &answer->err) &&
                    gi_runner_submit(runner, joint->executor, &chain, 0, &answer->err);
    gi_gpu_watch(gpu, &answer->session->is_cancelled);
    if (ok && !joint->cursor.is_paused) {
        book(joint);
    }
    answer->is_waiting = joint->cursor.is_paused;
    return ok;
}

// Sets the error of all answers whose chain could not be submitted.
static bool fail_all(struct gi_joint_run *joint, const struct gi_answer *answer)
{
    for (uint32_t i = 0; i < joint->group->n_slots; i++) {
        struct gi_answer *other = find_answer(joint->group, i);
        if (other && !gi_answer_is_finished(other) && (joint->place.live >> i & 1)) {
            other->err = answer->err;
            other->has_failed = true;
        }
    }
    joint->executor = NULL;
    return false;
}

//-- taking ----------------------------------------------------------------------------------------

// Discards the chains after a faulty one. Their answers go on after their last tokens.
static bool give_up(struct gi_joint_run *joint, struct gi_answer *answer)
{
    gi_gpu_watch(joint->runner.gpu, NULL); // no cancellation in the middle of the recovery
    const bool ok = gi_runner_drop_joint(&joint->runner, &joint->landing, &answer->err) &&
                    gi_joint_executors_give_up(joint->executors, &answer->err);
    gi_gpu_watch(joint->runner.gpu, &answer->session->is_cancelled);
    joint->untaken = joint->landing.joint.live;
    return ok;
}

// Retires the oldest chain in flight if it is complete; never blocks.
static bool look(struct gi_joint_run *joint, struct gi_answer *answer)
{
    bool is_done = false;
    if (!gi_runner_poll(&joint->runner, &is_done, &answer->err)) {
        return false;
    }
    answer->is_waiting = !is_done;
    if (!is_done) {
        return true;
    }
    if (!gi_runner_take(&joint->runner, &joint->landing, &answer->err)) {
        return false;
    }
    if (joint->landing.is_faulty) {
        return give_up(joint, answer);
    }
    gi_joint_times_learn(&joint->times, &joint->landing);
    joint->runner.step_ns = joint->times.step_ns[gi_joint_is_lone(joint->place.live)];
    joint->untaken = joint->landing.joint.live & ~joint->landing.joint.left;
    return true;
}

// Stores the chain's results for one answer in answer->landing.
static void take(struct gi_joint_run *joint, struct gi_answer *answer)
{
    uint64_t *step_ns = &answer->session->runner.step_ns;
    joint->untaken &= ~bit_of(answer);
    answer->landing = gi_landing_of_slot(&joint->landing, answer->session->slot);
    *step_ns = *step_ns ? *step_ns : answer->landing.step_ns; // a step of its own takes no more
    answer->clock.last_ns = answer->landing.time.end_ns;
    answer->clock.last_cpu_ns = gi_clock_cpu_ns();
}

//-- turns -----------------------------------------------------------------------------------------

bool gi_joint_run_advance(struct gi_answer *answer, bool *has_landed)
{
    struct gi_joint_run *joint = joint_of(answer);
    *has_landed = has_untaken(answer);
    if (*has_landed) {
        take(joint, answer);
        return true;
    }
    const uint32_t set = joint->executor ? 0 : write_masks(joint, choose_slots(joint));
    if (answer->has_failed) {
        return false;
    }
    if (set != 0 && !begin(joint, set, answer)) {
        return fail_all(joint, answer);
    }
    if (joint->executor) {
        return submit_open(joint, answer) ? !answer->has_failed : fail_all(joint, answer);
    }
    // The entries of a chain are valid until the next one is retired.
    answer->is_waiting = true;
    return joint->runner.n_flights == 0 || is_any_behind(joint) || look(joint, answer);
}

void gi_joint_run_leave(const struct gi_answer *answer)
{
    struct gi_joint_run *joint = joint_of(answer);
    if (!joint) {
        return;
    }
    joint->place.live &= ~bit_of(answer); // the GPU learns it before the rest of an open chain
    joint->untaken &= ~bit_of(answer);
    for (uint32_t i = 0; i < GI_RUNNER_SLOTS; i++) {
        joint->runner.flights[i].joint.left |= bit_of(answer);
    }
}

void gi_joint_run_set_pause(struct glinfer_session *session, uint64_t ns)
{
    struct gi_joint_run *joint = session->group->run;
    if (joint) {
        joint->runner.box.pause_ns = ns;
        joint->runner.box.has_begun = false;
    }
}

struct gi_runner *gi_joint_run_awaited(const struct gi_answer *answer)
{
    struct gi_joint_run *joint = joint_of(answer);
    return joint && joint->runner.n_flights > 0 && !joint->executor && gi_joint_run_suits(answer)
               ? &joint->runner
               : NULL;
}

void gi_joint_run_request(const struct gi_answer *answer)
{
    const struct gi_joint_run *joint = joint_of(answer);
    if (joint) {
        gi_joint_executors_request(joint->executors, answer->end, joint->times.step_ns[0]);
    }
}
