#include "gpu/dispatch/runner.h"

#include "base/clock.h"
#include "base/round.h"
#include "gpu/device/gpu_private.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/run_count.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

// Makes room for the entries of a chain's steps, the run count and the fault of its executor.
static bool init(struct gi_runner *runner, struct gi_gpu *gpu, uint64_t size,
                 struct glinfer_error *err)
{
    gi_time_box_init(&runner->box, gpu, 0);
    for (int i = 0; i < GI_RUNNER_SLOTS; i++) {
        if (!gi_readback_init(&runner->readbacks[i], gpu, size + 2 * sizeof(uint32_t), err)) {
            return false;
        }
    }
    return true;
}

bool gi_runner_init(struct gi_runner *runner, struct gi_gpu *gpu, struct gi_range state,
                    struct gi_range ring, struct glinfer_error *err)
{
    *runner = (struct gi_runner){.gpu = gpu, .state = state, .ring = ring};
    return init(runner, gpu, GI_RUNNER_READ_SIZE, err);
}

bool gi_runner_init_joint(struct gi_runner *runner, struct gi_gpu *gpu, struct gi_range state,
                          struct gi_range rings, uint32_t n_slots, uint64_t stride,
                          struct glinfer_error *err)
{
    *runner = (struct gi_runner){
        .gpu = gpu, .state = state, .ring = rings, .n_slots = n_slots, .ring_stride = stride};
    return init(runner, gpu, n_slots * GI_MAX_JOINT_CHAIN * sizeof(struct gi_ring_entry), err);
}

void gi_runner_set_budget(struct gi_runner *runner, uint64_t ns)
{
    runner->budget_ns = ns;
    runner->box.budget_ns = ns;
}

static uint32_t find_oldest(const struct gi_runner *runner)
{
    return (runner->next_flight + GI_RUNNER_SLOTS - runner->n_flights) % GI_RUNNER_SLOTS;
}

// Takes the oldest flight off the list.
static void end_flight(struct gi_runner *runner)
{
    const int fd = runner->flights[find_oldest(runner)].fence_fd;
    if (fd >= 0) {
        close(fd);
    }
    runner->n_flights--;
}

static void forget_flights(struct gi_runner *runner)
{
    while (runner->n_flights > 0) {
        end_flight(runner);
    }
}

void gi_runner_finish(struct gi_runner *runner)
{
    forget_flights(runner);
    for (int i = 0; runner->gpu && i < GI_RUNNER_SLOTS; i++) {
        gi_readback_finish(&runner->readbacks[i], runner->gpu);
    }
    gi_time_box_finish(&runner->box);
    *runner = (struct gi_runner){0};
}

//-- state -----------------------------------------------------------------------------------------

bool gi_runner_begin(struct gi_runner *runner, struct glinfer_error *err)
{
    for (int i = 0; i < GI_RUNNER_SLOTS; i++) {
        gi_fence_finish(runner->gpu, &runner->readbacks[i].fence);
    }
    gi_time_box_forget(&runner->box);
    forget_flights(runner);
    runner->polls = (struct gi_polls){0};
    runner->epoch++;
    runner->last = NULL;
    return gi_run_count_begin(runner->gpu, err);
}

bool gi_runner_fill(struct gi_runner *runner, const struct gi_range *range, const void *data,
                    uint64_t size, struct glinfer_error *err)
{
    assert(size <= range->size);
    return gi_buffer_write(range->buffer, runner->gpu, range->offset, data, size, err);
}

bool gi_runner_write(struct gi_runner *runner, const struct gi_step_state *state,
                     struct glinfer_error *err)
{
    struct gi_step_state own = *state;
    own.epoch = runner->epoch;
    runner->last = NULL;
    return gi_runner_fill(runner, &runner->state, &own, sizeof(own), err);
}

//-- chains ----------------------------------------------------------------------------------------

bool gi_runner_run(struct gi_runner *runner, struct gi_executor *executor,
                   const struct gi_chain *chain, struct glinfer_error *err)
{
    struct gi_chain own = *chain;
    own.is_continued = runner->last == executor;
    own.step_ns = runner->step_ns;
    own.budget_ns = runner->budget_ns;
    runner->last = executor;
    return gi_executor_submit(executor, &own, err);
}

// Asks for n entries of a ring from the first on, which may go round its end.
static void read_ring(struct gi_runner *runner, struct gi_readback *readback, uint64_t offset,
                      uint32_t first, uint32_t n)
{
    const uint64_t size = sizeof(struct gi_ring_entry);
    const uint32_t begin = first % GI_RING_SLOTS, left = GI_RING_SLOTS - begin;
    const uint32_t head = n < left ? n : left;
    gi_readback_add(readback, runner->gpu, runner->ring.buffer, offset + begin * size, head * size);
    if (head < n) {
        gi_readback_add(readback, runner->gpu, runner->ring.buffer, offset, (n - head) * size);
    }
}

// Asks for the entries of a flight, slot by slot, and returns how many those are.
static uint32_t read_entries(struct gi_runner *runner, struct gi_readback *readback,
                             const struct gi_flight *flight)
{
    uint32_t n = 0;
    if (runner->n_slots == 0) {
        read_ring(runner, readback, runner->ring.offset, flight->first, flight->n_steps);
        return flight->n_steps;
    }
    for (uint32_t i = 0; i < runner->n_slots; i++) {
        if (flight->joint.live >> i & 1) {
            read_ring(runner, readback, runner->ring.offset + i * runner->ring_stride,
                      flight->joint.first[i], flight->n_steps);
            n += flight->n_steps;
        }
    }
    return n;
}

bool gi_runner_submit(struct gi_runner *runner, struct gi_executor *executor,
                      const struct gi_chain *chain, uint32_t first, struct glinfer_error *err)
{
    struct gi_readback *readback = &runner->readbacks[runner->next_flight];
    const struct gi_range fault = gi_executor_fault(chain->before ? chain->before : executor);
    const struct gi_run_total before = gi_run_count_submitted(runner->gpu);
    struct gi_flight flight = {.first = first,
                               .n_steps = chain->n_entries > 0 ? chain->n_entries : chain->n_steps,
                               .has_fault = fault.buffer != NULL,
                               .begin_ns = chain->begin_ns ? chain->begin_ns : gi_clock_ns()};
    assert(runner->n_flights < GI_CHAINS_IN_FLIGHT && flight.n_steps <= GI_MAX_CHAIN);
    assert(runner->n_slots == 0 || (chain->joint && chain->n_steps <= GI_MAX_JOINT_CHAIN));
    if (!gi_runner_run(runner, executor, chain, err)) {
        return false;
    }
    if (chain->cursor && chain->cursor->is_paused) {
        return true;
    }
    if (runner->n_slots > 0) {
        flight.joint = *chain->joint;
    }
    const struct gi_run_total after = gi_run_count_submitted(runner->gpu);
    flight.n_submitted = after.n;
    flight.n_indirect = (after.n_indirect - before.n_indirect) / chain->n_steps;
    gi_readback_begin(readback);
    flight.n_entries = read_entries(runner, readback, &flight);
    gi_run_count_add(runner->gpu, readback);
    if (flight.has_fault) {
        gi_readback_add(readback, runner->gpu, fault.buffer, fault.offset, fault.size);
    }
    const uint64_t box_ns = gi_time_box_expected(&runner->box);
    const bool keeps_box = runner->box.pause_ns > 0; // does not wait for submissions in flight
    if ((keeps_box && !gi_time_box_close(&runner->box, err)) ||
        !gi_readback_end(readback, runner->gpu, err)) {
        return false;
    }
    flight.number = ++runner->gpu->n_chains;
    flight.submitted_ns = gi_clock_ns();
    flight.fence_fd = runner->wants_fence_fds ? gi_gpu_fence_fd(runner->gpu) : -1;
    flight.expected_ns = chain->n_steps * runner->step_ns;
    readback->fence.expected_ns = box_ns + flight.expected_ns;
    if (!keeps_box) {
        gi_time_box_forget(&runner->box);
    }
    runner->flights[runner->next_flight] = flight;
    runner->next_flight = (runner->next_flight + 1) % GI_RUNNER_SLOTS;
    runner->n_flights++;
    return true;
}

bool gi_runner_wait(struct gi_runner *runner, struct glinfer_error *err)
{
    return gi_gpu_finish(runner->gpu, err);
}

bool gi_runner_read(struct gi_runner *runner, const struct gi_range *range, void *data,
                    uint64_t size, struct glinfer_error *err)
{
    struct gi_readback *readback = &runner->readbacks[runner->next_flight];
    uint32_t n_ran;
    assert(runner->n_flights == 0 && size <= GI_RUNNER_READ_SIZE);
    gi_readback_begin(readback);
    gi_readback_add_checked(readback, runner->gpu, range->buffer, range->offset, size);
    gi_run_count_add(runner->gpu, readback);
    const uint8_t *found = gi_readback_end(readback, runner->gpu, err)
                               ? gi_readback_wait(readback, runner->gpu, err)
                               : NULL;
    if (!found) {
        return false;
    }
    memcpy(data, found, size);
    memcpy(&n_ran, found + size, sizeof(n_ran));
    return gi_run_count_check(runner->gpu, n_ran, gi_run_count_submitted(runner->gpu).n, err);
}

struct gi_chain_time gi_polls_measure(const struct gi_polls *polls, struct gi_last_end *last,
                                      uint64_t number, uint64_t begin_ns, uint64_t now)
{
    const uint64_t punctual_ns = 1000000;
    const bool is_in_order = number > last->number;
    const uint64_t from = is_in_order ? gi_max_u64(begin_ns, last->busy_ns) : begin_ns;
    const uint64_t begin = gi_max_u64(begin_ns, last->ns), ns = now > begin ? now - begin : 1;
    const bool is_begin_seen =
        number == last->number + 1 && (last->ns <= begin_ns || (last->ns - last->busy_ns) * 4 < ns);
    const bool is_exact = is_begin_seen && (now - polls->busy_ns) * 4 < ns;
    const bool is_short = polls->busy_ns < polls->early_ns && now - polls->early_ns < punctual_ns;
    if (is_in_order) {
        *last = (struct gi_last_end){number, gi_max_u64(polls->busy_ns, from), now};
    }
    return (struct gi_chain_time){now, is_exact ? ns : gi_max_u64(now - from, 1), is_exact,
                                  is_short};
}

uint64_t gi_chain_time_learn(const struct gi_chain_time *time, uint64_t known, uint64_t step_ns)
{
    const bool is_taken = time->is_exact || known == 0 || step_ns < known;
    return is_taken ? step_ns : time->is_short ? known - known / 4 : known;
}

bool gi_runner_poll(struct gi_runner *runner, bool *is_ready, struct glinfer_error *err)
{
    const uint32_t index = find_oldest(runner);
    assert(runner->n_flights > 0);
    const bool ok = gi_fence_poll(runner->gpu, &runner->readbacks[index].fence,
                                  runner->flights[index].submitted_ns, is_ready, err);
    runner->polls.busy_ns = *is_ready ? runner->polls.busy_ns : gi_clock_ns();
    runner->polls.is_used = true;
    return ok;
}

uint64_t gi_runner_expected(const struct gi_runner *runner, uint64_t *ns)
{
    const struct gi_flight *oldest = &runner->flights[find_oldest(runner)];
    *ns = oldest->expected_ns;
    return gi_max_u64(oldest->submitted_ns, runner->gpu->last_end.ns);
}

int gi_runner_fence_fd(const struct gi_runner *runner)
{
    return runner->n_flights > 0 ? runner->flights[find_oldest(runner)].fence_fd : -1;
}

bool gi_runner_take(struct gi_runner *runner, struct gi_landing *landing, struct glinfer_error *err)
{
    const uint32_t index = find_oldest(runner);
    const struct gi_flight flight = runner->flights[index];
    assert(runner->n_flights > 0);
    const struct gi_ring_entry *entries =
        gi_readback_wait(&runner->readbacks[index], runner->gpu, err);
    if (!entries) {
        return false;
    }
    const uint64_t now = gi_clock_ns();
    runner->polls.busy_ns = runner->polls.is_used ? runner->polls.busy_ns : now;
    uint32_t tail[2] = {0}; // the run count, the fault
    memcpy(tail, entries + flight.n_entries, (flight.has_fault ? 2 : 1) * sizeof(tail[0]));
    end_flight(runner);
    *landing = (struct gi_landing){.first = flight.first,
                                   .n_steps = flight.n_steps,
                                   .joint = flight.joint,
                                   .entries = entries,
                                   .is_faulty = tail[1] != 0,
                                   .n_submitted = flight.n_submitted,
                                   .n_ran = tail[0],
                                   .n_indirect = flight.n_indirect,
                                   .time = gi_polls_measure(&runner->polls, &runner->gpu->last_end,
                                                            flight.number, flight.begin_ns, now)};
    runner->polls.early_ns = 0;
    runner->polls.is_used = false;
    return true;
}

struct gi_landing gi_landing_of_slot(const struct gi_landing *landing, uint32_t slot)
{
    struct gi_landing own = *landing;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < slot; i++) {
        rank += landing->joint.live >> i & 1;
    }
    const bool is_live = landing->joint.live >> slot & 1;
    own.first = landing->joint.first[slot];
    own.entries = is_live ? landing->entries + (size_t)rank * landing->n_steps : NULL;
    return own;
}

bool gi_runner_drop(struct gi_runner *runner, bool *is_faulty, struct glinfer_error *err)
{
    struct gi_landing landing;
    while (runner->n_flights > 0) {
        if (!runner->flights[find_oldest(runner)].has_fault) {
            end_flight(runner);
        } else if (!gi_runner_take(runner, &landing, err)) {
            return false;
        } else {
            *is_faulty = *is_faulty || landing.is_faulty;
        }
    }
    return true;
}

uint32_t gi_runner_joint_slots(const struct gi_runner *runner)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < runner->n_flights; i++) {
        const uint32_t index = (find_oldest(runner) + i) % GI_RUNNER_SLOTS;
        set |= runner->flights[index].joint.live & ~runner->flights[index].joint.left;
    }
    return set;
}

bool gi_runner_drop_joint(struct gi_runner *runner, struct gi_landing *faulty,
                          struct glinfer_error *err)
{
    struct gi_joint_place *lost = &faulty->joint;
    bool is_faulty = true;
    lost->live &= ~lost->left;
    lost->left = 0;
    for (uint32_t k = 0; k < runner->n_flights; k++) {
        const uint32_t index = (find_oldest(runner) + k) % GI_RUNNER_SLOTS;
        const struct gi_joint_place *place = &runner->flights[index].joint;
        for (uint32_t i = 0; i < GI_MAX_ROWS; i++) {
            lost->first[i] = lost->live >> i & 1 ? lost->first[i] : place->first[i];
        }
        lost->live |= place->live & ~place->left;
    }
    return gi_runner_drop(runner, &is_faulty, err);
}

bool gi_runner_check_count(const struct gi_runner *runner, const struct gi_landing *landing,
                           uint32_t n_live, struct glinfer_error *err)
{
    const uint32_t n_idle = (landing->n_steps - n_live) * landing->n_indirect;
    return gi_run_count_check(runner->gpu, landing->n_ran, landing->n_submitted - n_idle, err);
}

bool gi_runner_check_entry(const struct gi_runner *runner, const struct gi_ring_entry *entry,
                           uint32_t step, uint32_t n_vocab, struct glinfer_error *err)
{
    if (entry->epoch != runner->epoch || entry->step != step || entry->status == 0) {
        return gi_error_set(err, GLINFER_STATUS_GPU_LOST,
                            "the GPU did not finish step %u (found step %u of generation %u, "
                            "expected generation %u): it was probably reset",
                            step, entry->step, entry->epoch, runner->epoch);
    }
    if (entry->status != GI_RING_STATUS_OK || entry->token >= n_vocab) {
        return gi_error_set(err, GLINFER_STATUS_GPU_FAULT,
                            "the GPU computed something impossible at step %u: %s (token %u)", step,
                            entry->status == GI_RING_STATUS_NAN ? "a logit that is not a number"
                                                                : "a token out of range",
                            entry->token);
    }
    return true;
}
