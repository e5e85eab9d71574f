// Sums, by kernel, of what a profile's dispatches moved and computed. Private to profile.c.
#pragma once

#include "glinfer.h"
#include "gpu/dispatch/dispatch_table.h"

// A dispatch of a set: what was replayed for how many tokens.
struct gi_span {
    const struct gi_dispatch *dispatch; // of the table
    uint32_t n_past, n_tokens;
};

struct gi_kernel_sums {
    const struct gi_program_table *programs; // borrowed
    struct glinfer_profile_kernel *kernels;  // n, with room for one of each span; the caller's
    uint32_t n;
};

const char *gi_span_program(const struct gi_span *span, const struct gi_program_table *programs);
uint64_t gi_span_bytes(const struct gi_span *span);
uint64_t gi_span_flops(const struct gi_span *span);

// Adds n_spans spans, which took ns.
void gi_kernel_sums_add(struct gi_kernel_sums *sums, const struct gi_span *spans,
                        const uint64_t *ns, uint32_t n_spans);
// Turns sums over the runs into means, the slowest kernel first, and adds them up in stats.
void gi_kernel_sums_finish(struct gi_kernel_sums *sums, uint32_t n_runs,
                           struct glinfer_profile_stats *stats);
