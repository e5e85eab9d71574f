#include "engine/measure/profile_sums.h"

#include "gpu/dispatch/dispatch_estimate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *gi_span_program(const struct gi_span *span, const struct gi_program_table *programs)
{
    return gi_program_label(programs, span->dispatch->program);
}

uint64_t gi_span_bytes(const struct gi_span *span)
{
    return gi_dispatch_bytes(span->dispatch, span->n_past, span->n_tokens);
}

uint64_t gi_span_flops(const struct gi_span *span)
{
    return gi_dispatch_flops(span->dispatch, span->n_past, span->n_tokens);
}

static struct glinfer_profile_kernel *find_kernel(struct gi_kernel_sums *sums,
                                                  const struct gi_span *span)
{
    const char *program = gi_span_program(span, sums->programs);
    for (uint32_t i = 0; i < sums->n; i++) {
        struct glinfer_profile_kernel *kernel = &sums->kernels[i];
        if (kernel->program == program && strcmp(kernel->label, span->dispatch->label) == 0) {
            return kernel;
        }
    }
    struct glinfer_profile_kernel *kernel = &sums->kernels[sums->n++];
    *kernel = (struct glinfer_profile_kernel){.label = span->dispatch->label, .program = program};
    return kernel;
}

void gi_kernel_sums_add(struct gi_kernel_sums *sums, const struct gi_span *spans,
                        const uint64_t *ns, uint32_t n_spans)
{
    for (uint32_t i = 0; i < n_spans; i++) {
        struct glinfer_profile_kernel *kernel = find_kernel(sums, &spans[i]);
        kernel->n_dispatches++;
        kernel->ns += (double)ns[i];
        kernel->weight_bytes += spans[i].dispatch->weight_bytes;
        kernel->bytes += gi_span_bytes(&spans[i]);
        kernel->flops += gi_span_flops(&spans[i]);
    }
}

static int compare_kernels(const void *a, const void *b)
{
    const struct glinfer_profile_kernel *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

void gi_kernel_sums_finish(struct gi_kernel_sums *sums, uint32_t n_runs,
                           struct glinfer_profile_stats *stats)
{
    assert(n_runs > 0);
    for (uint32_t i = 0; i < sums->n; i++) {
        struct glinfer_profile_kernel *kernel = &sums->kernels[i];
        kernel->n_dispatches /= n_runs;
        kernel->ns /= n_runs;
        kernel->weight_bytes /= n_runs;
        kernel->bytes /= n_runs;
        kernel->flops /= n_runs;
        stats->kernel_ns += kernel->ns;
        stats->weight_bytes += kernel->weight_bytes;
    }
    qsort(sums->kernels, sums->n, sizeof(sums->kernels[0]), compare_kernels);
}
