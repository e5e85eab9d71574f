#include "tests/kernel/cases/cases_slots.h"

#include <string.h>

bool kt_slots_write(struct kt_slots *slots, struct kt_run *run)
{
    static const struct gi_step_state batch = {.n_past = 3, .n_tokens = 17};
    uint8_t bytes[(GI_MAX_ROWS + 1) * GI_STEP_STATE_STRIDE] = {0};
    struct gi_step_state own = {.n_tokens = slots->n};
    for (uint32_t i = 0; i < slots->n; i++) {
        struct gi_step_state *state = &slots->states[i];
        own.token |= (uint32_t)(slots->kinds[i] != KT_SLOT_OUT) << i;
        state->done = slots->kinds[i] == KT_SLOT_DONE;
        memcpy(bytes + (size_t)i * GI_STEP_STATE_STRIDE,
               slots->kinds[i] == KT_SLOT_OUT ? &batch : state, sizeof(*state));
    }
    memcpy(bytes + (size_t)slots->n * GI_STEP_STATE_STRIDE, &own, sizeof(own));
    return kt_write(run, &slots->range, 0, bytes, (slots->n + 1) * (size_t)GI_STEP_STATE_STRIDE);
}

void kt_slots_init(struct kt_slots *slots, struct kt_run *run, uint32_t n, uint32_t n_ctx)
{
    *slots = (struct kt_slots){.n = n};
    for (uint32_t i = 0; i < n; i++) {
        slots->states[i] = run->state;
        slots->states[i].n_past = i % 5 == 3 ? n_ctx - 1 : kt_index(run, n_ctx);
        slots->states[i].n_tokens = 1;
        slots->kinds[i] = i % 4 == 1 ? KT_SLOT_OUT : i % 4 == 2 ? KT_SLOT_DONE : KT_SLOT_LIVE;
    }
    slots->range = kt_range(run, "states", NULL, (n + 1) * (size_t)GI_STEP_STATE_STRIDE);
    if (!run->has_failed && kt_slots_write(slots, run)) {
        run->recorder.slots = (struct gi_slots){n, slots->range};
    }
}

static uint32_t most_past(const struct kt_slots *slots)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < slots->n; i++) {
        most = slots->states[i].n_past > most ? slots->states[i].n_past : most;
    }
    return most;
}

bool kt_slots_check(const struct kt_slots *slots, struct kt_run *run)
{
    struct kt_check checks[GI_MAX_ROWS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < slots->n; i++) {
        if (slots->kinds[i] == KT_SLOT_LIVE) {
            checks[n++] = (struct kt_check){i, slots->states[i].n_past, 1, 0};
        }
    }
    return kt_check_states(run, checks, n, most_past(slots), slots->n);
}

bool kt_slots_turn(struct kt_slots *slots, struct kt_run *run)
{
    for (uint32_t i = 1; i < slots->n; i++) {
        slots->kinds[i] = slots->kinds[i] == KT_SLOT_LIVE ? KT_SLOT_OUT : KT_SLOT_LIVE;
    }
    return kt_slots_write(slots, run);
}
