// Builds every program of programs.def on the device, with typical defines, under no more than it
// offers: each with the first weight type and with an eighth of the others, since all types with
// all kernels run in kernel_test and are read by glslangValidator. GLINFER_TEST_ALL builds all.
// Exit status 77 where there is no device.
#include "gpu/device/half_probe.h"
#include "gpu/device/settings.h"
#include "tests/kernel/fixture/program_variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct build {
    struct gi_gpu *gpu;
    struct gi_program_table *programs;
    bool is_all;
    uint32_t n_left_out;
    struct glinfer_error err;
};

// Rows of a kernel follow each other, so that each type is built with an eighth of them.
static bool is_one_of_eight(const struct gi_program_key *key)
{
    return ((uint32_t)key->id + key->quant) % 8 == 0;
}

// Two slices of gemm_half.comp, whose room the op checks, share up to 48 KiB.
static bool has_room(const struct build *build, const struct gi_program_key *key)
{
    bool is_large = false;
    for (uint32_t i = 0; i < key->n_defines; i++) {
        is_large = is_large || (key->id == GI_PROGRAM_GEMM_HALF && key->defines[i].value == 2 &&
                                strcmp(key->defines[i].name, "SLICES") == 0);
    }
    return !is_large || gi_gpu_limits(build->gpu)->max_shared_size >= 48 << 10;
}

static bool request_variant(void *user, const struct program_variant *variant)
{
    struct build *build = user;
    uint32_t index;
    if (!gi_program_available(build->gpu, variant->key.id) || !has_room(build, &variant->key)) {
        build->n_left_out++;
        return true;
    }
    if (variant->is_other_type && !build->is_all && !is_one_of_eight(&variant->key)) {
        return true;
    }
    return gi_program_table_request(build->programs, &variant->key, &index, &build->err);
}

static bool build_all(struct build *build)
{
    struct gi_program_stats stats;
    build->programs = gi_program_table_create(build->gpu, &build->err);
    if (!build->programs || !gi_half_probe(build->gpu, build->programs, &build->err) ||
        !program_variants_visit(request_variant, build, &build->err) ||
        !gi_program_table_build(build->programs, NULL, NULL, &build->err)) {
        return false;
    }
    gi_program_table_describe(build->programs, &stats);
    printf("%u programs, %u not for this device\n", stats.n_programs, build->n_left_out);
    return true;
}

static bool run(struct gi_platform *platform, struct build *build)
{
    struct gi_settings settings;
    const struct gi_gpu_params params = {.cache_dir = "", .settings = &settings};
    struct gi_platform_saved saved;
    gi_settings_read(&settings, NULL);
    build->gpu = gi_gpu_create(platform, &params, &build->err);
    if (!build->gpu || !gi_gpu_enter(build->gpu, &saved, &build->err)) {
        return false;
    }
    printf("%s\n", gi_gpu_platform(build->gpu)->renderer);
    bool is_built = build_all(build);
    gi_program_table_destroy(build->programs);
    gi_gpu_leave(build->gpu, &saved);
    return is_built;
}

int main(void)
{
    struct build build = {.is_all = getenv("GLINFER_TEST_ALL") != NULL};
    const struct gi_platform_params params = {.device = "auto", .allow_software = true};
    struct gi_platform *platform = gi_platform_open(&params, &build.err);
    if (!platform) {
        fprintf(stderr, "skipped: %s\n", build.err.message);
        return 77;
    }
    bool is_built = run(platform, &build);
    gi_gpu_destroy(build.gpu);
    gi_platform_close(platform);
    if (!is_built) {
        fprintf(stderr, "%s\n", build.err.message);
    }
    return is_built ? 0 : 1;
}
