#include "gpu/dispatch/time_box.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MIXED UINT32_MAX

enum {
    TIMED = 2,   // dispatches of a program that are timed alone: the first may compile or page in
    CAUTION = 4, // parts of the budget, one of which a program may take that was never timed
    FIRST_PIECES = 8, // of its first dispatch, at least, unless that is
    SMALL = 64,       // times smaller than the budget
    FILL_TENTHS = 7,  // of the budget that estimates may fill: they are rough, and clocks change
    HURRY_TENTHS = 3, // of the budget, for a software renderer whose caller has no time to wait: it
                      // computes while we submit, on cores that other processes use too
};

void gi_time_box_init(struct gi_time_box *box, struct gi_gpu *gpu, uint64_t budget_ns)
{
    *box = (struct gi_time_box){.gpu = gpu, .budget_ns = budget_ns, .scale = 1.0};
}

void gi_time_box_finish(struct gi_time_box *box)
{
    if (box->gpu) {
        gi_time_box_forget(box);
    }
    free(box->rates);
    *box = (struct gi_time_box){0};
}

bool gi_time_box_reserve(struct gi_time_box *box, const struct gi_program_table *programs,
                         struct glinfer_error *err)
{
    struct gi_program_stats stats;
    gi_program_table_describe(programs, &stats);
    const uint32_t n = stats.n_programs;
    if (n <= box->n_rates) {
        return true;
    }
    struct gi_box_rate *rates = gi_array_zeroed(n, sizeof(*rates), "rates of programs", err);
    if (!rates) {
        return false;
    }
    if (box->n_rates > 0) {
        memcpy(rates, box->rates, box->n_rates * sizeof(*rates));
    }
    free(box->rates);
    box->rates = rates;
    box->n_rates = n;
    return true;
}

//-- estimates -------------------------------------------------------------------------------------

static const struct gi_box_rate *find_rate(const struct gi_time_box *box, uint32_t program)
{
    assert(program < box->n_rates);
    return &box->rates[program];
}

static bool is_timed(const struct gi_time_box *box, uint32_t program)
{
    return find_rate(box, program)->n_timed >= TIMED;
}

double gi_time_box_estimate(const struct gi_time_box *box, uint32_t program, double class_ns)
{
    const float factor = find_rate(box, program)->factor;
    return factor > 0 ? class_ns * (double)factor * box->scale : class_ns;
}

// Nanoseconds that a submission with this program may be estimated at.
static double room_for(const struct gi_time_box *box, uint32_t program)
{
    const double budget = (double)box->budget_ns;
    const bool hurries = box->pause_ns > 0 && gi_gpu_platform(box->gpu)->is_software;
    return find_rate(box, program)->n_timed == 0
               ? budget / CAUTION
               : budget * (hurries ? HURRY_TENTHS : FILL_TENTHS) / 10;
}

uint32_t gi_time_box_pieces(const struct gi_time_box *box, uint32_t program, double class_ns,
                            uint32_t most)
{
    const double ns = gi_time_box_estimate(box, program, class_ns);
    const double n_group = room_for(box, program) / ns * most; // that fit a piece
    const bool is_first = find_rate(box, program)->n_timed == 0;
    const uint32_t least = is_first && ns * SMALL > (double)box->budget_ns ? FIRST_PIECES : 1;
    const uint32_t n_fit = n_group >= most ? 1
                           : n_group < 2   ? most
                                           : gi_divide_up(most, (uint32_t)n_group);
    return n_fit > least ? n_fit : least < most ? least : most;
}

//-- learning --------------------------------------------------------------------------------------

// Takes what a flight of one program alone took as its rate: the shorter of the first two, later
// mostly what was known. The scale is in both, so the factor is without it.
static void learn_rate(struct gi_time_box *box, const struct gi_box_flight *flight, double ns)
{
    struct gi_box_rate *rate = &box->rates[flight->program];
    const double known = rate->factor > 0 ? (double)rate->factor * box->scale : 1.0;
    const double class_ns = flight->estimate_ns / known;
    const float factor = (float)(ns / class_ns / box->scale);
    const bool is_new = rate->n_timed < TIMED;
    rate->factor = rate->n_timed == 0                ? factor
                   : is_new && factor < rate->factor ? factor
                   : is_new                          ? rate->factor
                                                     : (rate->factor + factor) / 2;
    rate->n_timed += is_new;
}

// A submission that took longer than estimated makes all estimates larger at once; one that took
// less makes them smaller by and by, and never much smaller than what was timed.
static void learn_scale(struct gi_time_box *box, const struct gi_box_flight *flight, double ns)
{
    const double least = 0.7, most = 8.0;
    const double ratio = ns / flight->estimate_ns;
    box->scale *= ratio > 2.0 ? 2.0 : ratio > 1.0 ? ratio : ratio > 0.5 ? 0.5 + ratio / 2 : 0.75;
    box->scale = box->scale < least ? least : box->scale > most ? most : box->scale;
}

static void learn(struct gi_time_box *box, const struct gi_box_flight *flight)
{
    const uint64_t now = gi_clock_ns();
    const uint64_t begin = flight->begin_ns > box->done_ns ? flight->begin_ns : box->done_ns;
    const double ns = (double)(now - begin);
    box->done_ns = now;
    gi_log_write(gi_gpu_log(box->gpu), GLINFER_LOG_DEBUG,
                 "submission: %u piece%s, %.1f ms, estimated %.1f", flight->n_pieces,
                 flight->n_pieces == 1 ? "" : "s", ns / 1e6, flight->estimate_ns / 1e6);
    if (flight->program == MIXED) {
        learn_scale(box, flight, ns);
    } else {
        learn_rate(box, flight, ns);
    }
}

//-- submissions -----------------------------------------------------------------------------------

static void forget_oldest(struct gi_time_box *box)
{
    gi_fence_finish(box->gpu, &box->flights[0].fence);
    box->n_flights--;
    memmove(box->flights, box->flights + 1, box->n_flights * sizeof(box->flights[0]));
}

static bool take_flight(struct gi_time_box *box, struct glinfer_error *err)
{
    struct gi_box_flight *flight = &box->flights[0];
    flight->fence.expected_ns = gi_time_box_expected(box);
    if (!gi_fence_wait(box->gpu, &flight->fence, 0, err)) {
        return false;
    }
    learn(box, flight);
    forget_oldest(box);
    return true;
}

static bool take_flights(struct gi_time_box *box, uint32_t most, struct glinfer_error *err)
{
    while (box->n_flights > most) {
        if (!take_flight(box, err)) {
            return false;
        }
    }
    return true;
}

bool gi_time_box_close(struct gi_time_box *box, struct glinfer_error *err)
{
    const struct gi_box_event event = {.ns = box->open.estimate_ns};
    if (box->open.n_pieces == 0) {
        return true;
    }
    if (box->plan) {
        box->plan(box->user, &event);
    } else if (!take_flights(box, GI_BOX_FLIGHTS - 1, err) ||
               !gi_fence_insert(box->gpu, &box->open.fence, err)) {
        return false;
    } else {
        gi_gpu_flush(box->gpu);
        box->flights[box->n_flights++] = box->open;
    }
    box->open = (struct gi_box_flight){0};
    // A software renderer computes while we submit.
    return !gi_gpu_platform(box->gpu)->is_software || take_flights(box, 0, err);
}

bool gi_time_box_pause(struct gi_time_box *box, bool *pauses, struct glinfer_error *err)
{
    *pauses = false;
    if (box->pause_ns == 0) {
        return true;
    }
    for (bool is_done = true; is_done && box->n_flights > 0;) {
        const struct gi_box_flight *flight = &box->flights[0];
        if (!gi_fence_poll(box->gpu, &flight->fence, flight->begin_ns, &is_done, err)) {
            return false;
        }
        if (is_done) {
            forget_oldest(box); // it may have been over for long: what it took is not known
            box->done_ns = gi_clock_ns();
        }
    }
    const bool is_full = box->n_flights == GI_BOX_FLIGHTS;
    *pauses = is_full || (box->has_begun && gi_clock_ns() >= box->pause_ns);
    return !*pauses || is_full || gi_time_box_close(box, err);
}

bool gi_time_box_enter(struct gi_time_box *box, uint32_t program, double class_ns,
                       struct glinfer_error *err)
{
    const double ns = gi_time_box_estimate(box, program, class_ns);
    const bool is_alone = !is_timed(box, program);
    const double room = room_for(box, program);
    if ((is_alone || box->open.estimate_ns + ns > room) && !gi_time_box_close(box, err)) {
        return false;
    }
    if (!box->plan &&
        ((is_alone && !take_flights(box, 0, err)) || gi_gpu_is_cancelled(box->gpu, err))) {
        return false;
    }
    box->has_begun = true;
    if (box->open.n_pieces == 0) {
        box->open.begin_ns = gi_clock_ns();
        box->open.program = program;
    }
    box->open.program = box->open.program == program ? program : MIXED;
    box->open.estimate_ns += ns;
    box->open.n_pieces++;
    return true;
}

bool gi_time_box_leave(struct gi_time_box *box, uint32_t program, struct glinfer_error *err)
{
    if (is_timed(box, program)) {
        return true;
    }
    if (!gi_time_box_close(box, err)) {
        return false;
    }
    if (box->plan) {
        box->rates[program].n_timed++;
        return true;
    }
    return take_flights(box, 0, err);
}

void gi_time_box_forget(struct gi_time_box *box)
{
    for (uint32_t i = 0; i < box->n_flights; i++) {
        gi_fence_finish(box->gpu, &box->flights[i].fence);
    }
    gi_fence_finish(box->gpu, &box->open.fence);
    box->n_flights = 0;
    box->open = (struct gi_box_flight){0};
}

uint64_t gi_time_box_expected(const struct gi_time_box *box)
{
    double ns = box->open.estimate_ns;
    for (uint32_t i = 0; i < box->n_flights; i++) {
        ns += box->flights[i].estimate_ns;
    }
    return (uint64_t)ns;
}
