#include "gpu/dispatch/dispatch_estimate.h"

#include "base/round.h"
#include "gpu/dispatch/dispatch_private.h"

uint64_t gi_dispatch_bytes(const struct gi_dispatch *dispatch, uint32_t n_past, uint32_t n_tokens)
{
    uint64_t n_keys = dispatch->n_key > 0 ? dispatch->n_key : (uint64_t)n_past + n_tokens;
    const uint64_t most = (uint64_t)dispatch->window + n_tokens - 1;
    n_keys = dispatch->window > 0 && n_keys > most ? most : n_keys;
    return dispatch->weight_bytes + dispatch->key_bytes * n_keys;
}

// Each token of a batch sees the keys before it and, on average, half of its own batch; the other
// half only if keys after its own count.
static double count_keys(const struct gi_dispatch *dispatch, uint32_t n_past, uint32_t n_tokens)
{
    const double n_before = n_past + (n_tokens + 1) / 2.0, n_after = (n_tokens - 1) / 2.0;
    if (dispatch->n_key > 0) {
        return dispatch->n_key;
    }
    const double seen =
        dispatch->window > 0 && n_before > dispatch->window ? dispatch->window : n_before;
    return seen + (n_after < dispatch->after ? n_after : dispatch->after);
}

uint64_t gi_dispatch_flops(const struct gi_dispatch *dispatch, uint32_t n_past, uint32_t n_tokens)
{
    const double key_flops = (double)dispatch->key_flops * count_keys(dispatch, n_past, n_tokens);
    return (2 * dispatch->n_weight + (uint64_t)key_flops) * n_tokens;
}

double gi_dispatch_estimate(const struct gi_dispatch *dispatch, const struct gi_device_class *class,
                            uint32_t n_past, uint32_t n_tokens)
{
    enum {
        GROUP_BYTES = 4096, // of a kernel without weights and keys, as an order of magnitude
        LEAST_MMAC = 1000,  // of a class that has no rates
        LEAST_MB = 2000,
    };
    const struct gi_grid *grid = &dispatch->grid;
    const uint32_t n = grid->rule == GI_GRID_TOKENS
                           ? gi_divide_up(n_tokens, grid->divisor) * grid->divisor
                           : n_tokens;
    const double flops = (double)gi_dispatch_flops(dispatch, n_past, n);
    double bytes = (double)gi_dispatch_bytes(dispatch, n_past, n_tokens);
    if (flops <= 0) {
        uint32_t count[3];
        gi_grid_count(grid, n_past, n_tokens, count);
        bytes += (double)count[0] * count[1] * count[2] * GROUP_BYTES;
    }
    // 1e6 a second are 1e-3 a nanosecond.
    const double mmac_per_s = class->rates.mmac_per_s ? class->rates.mmac_per_s : LEAST_MMAC;
    const double mb_per_s = class->rates.mb_per_s ? class->rates.mb_per_s : LEAST_MB;
    return 1e3 * class->rates.launch_us + flops / 2 / (mmac_per_s * 1e-3) +
           bytes / (mb_per_s * 1e-3);
}

bool gi_dispatch_wants_pieces(const struct gi_dispatch *dispatch,
                              const struct gi_device_class *class, uint32_t n_past,
                              uint32_t n_tokens)
{
    enum { FAST_MMAC = 5000 };
    const double least_ns = class->rates.mmac_per_s > FAST_MMAC ? 100e6 : 2.5e6;
    return gi_dispatch_estimate(dispatch, class, n_past, n_tokens) > least_ns;
}
