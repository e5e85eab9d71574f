// The slots of a joint list in tests: step states at positions of their own, some of which take no
// part or are done.
#pragma once

#include "tests/kernel/fixture/kernel_test.h"

enum kt_slot {
    KT_SLOT_LIVE,
    KT_SLOT_OUT,  // takes no part: its step_state is that of a prompt's batch
    KT_SLOT_DONE, // took part, and is done
};

struct kt_slots {
    uint32_t n;
    struct gi_step_state states[GI_MAX_ROWS];
    enum kt_slot kinds[GI_MAX_ROWS];
    struct gi_range range;
};

// Draws positions for n slots below n_ctx, one of them the last, and makes the recorder's list
// joint. The first slot is live, the next one out, the next one done, and so on.
void kt_slots_init(struct kt_slots *slots, struct kt_run *run, uint32_t n, uint32_t n_ctx);
// Uploads the states again, as `kinds` then has them.
bool kt_slots_write(struct kt_slots *slots, struct kt_run *run);
// Makes live slots idle and the others live, except the first.
bool kt_slots_turn(struct kt_slots *slots, struct kt_run *run);
// Compares all entries with their references for the live slots (kt_check); expects that the others
// are left as they are.
bool kt_slots_check(const struct kt_slots *slots, struct kt_run *run);
