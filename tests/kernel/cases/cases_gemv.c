#include "tests/kernel/cases/cases_gemv.h"

#include <string.h>

static const struct form {
    const char *name; // of GLINFER_GEMV, or of a stage
    uint32_t size, n; // of a stage: invocations of a group, groups at most
    bool is_half;
} forms[] = {
    {"split", 0, 0, false},
    {"split:96:3:2", 0, 0, false},
    {"row:64:2:2", 0, 0, false},
    {"row:64:2", 0, 0, false},
    {"texel", 0, 0, false},
    {"halves", 0, 0, false},
    {"bytes:64:2:4", 0, 0, false},
    {"places:32:2", 0, 0, false},
    {"texbits:64:1:8", 0, 0, false},
    {"texbits", 0, 0, false},
    {"f16:64:2", 0, 0, true},
    {"f16:256:1:3", 0, 0, true},
    {"f16:128:4:2", 0, 0, true},
    {"f16:448:7", 0, 0, true},
    {"f16:640:5", 0, 0, true},
    {"split:1024:1", 0, 0, false},
    {"3 stages of 128", 128, 3, false},
    {"2 stages of 128 in f16", 128, 2, true},
    {"2 stages of 512", 512, 2, false},
    {"5 stages of 512 in f16", 512, 5, true},
    {"5 stages of 1024 in f16", 1024, 5, true},
    {"bytes:64:2", 0, 0, false},
};

const char *kt_gemv_form_name(uint32_t form)
{
    return forms[form].name;
}

// softpipe reads wrong texels past 32768; the library does not choose that form there.
bool kt_gemv_set_form(struct kt_run *run, uint32_t form)
{
    const struct form *own = &forms[form];
    const struct gi_limits *limits = gi_gpu_limits(run->gpu);
    if (own->size == 0) {
        const bool is_wrong =
            strstr(own->name, "tex") && strstr(gi_gpu_platform(run->gpu)->renderer, "softpipe");
        return kt_set(run, "GLINFER_GEMV", is_wrong ? NULL : own->name);
    }
    run->is_left_out =
        own->size > limits->max_invocations || (own->size > 512 && limits->subgroup_size == 0);
    run->recorder.form.group_size = own->size;
    run->recorder.form.n_groups = own->n;
    run->recorder.is_half = own->is_half;
    return !run->is_left_out && kt_set(run, "GLINFER_GEMV", NULL);
}

struct gi_stream kt_gemv_stream(struct kt_run *run, uint32_t n_embd, uint32_t n_rot)
{
    return kt_stream(run, n_embd, n_rot, KT_GEMV_NORM_EPS, 1 + n_embd / 16 % 40);
}

//-- gemv_plain ------------------------------------------------------------------------------------

static const char *const plain_inputs[] = {"x", "x with bias", "norm", "norm with bias"};

static uint64_t record_gemv_plain(struct kt_run *run, const uint32_t *v)
{
    const uint32_t n_rows = v[2], n_cols = v[3];
    const struct gi_range x = kt_random_rows(run, "x", 1, n_cols, 1).range;
    const struct gi_range y = kt_range(run, "y", NULL, n_rows * sizeof(float));
    const struct gi_stream stream = kt_gemv_stream(run, n_cols, 0);
    const struct gi_weight weight =
        kt_weight(run, &(struct kt_weight_params){.type = v[0],
                                                  .n_rows = n_rows,
                                                  .n_cols = n_cols,
                                                  .max_part_rows = v[4] ? n_rows / 32 * 16 + 16 : 0,
                                                  .has_bias = v[5] % 2});
    if (run->has_failed || !kt_gemv_set_form(run, v[1])) {
        return 0;
    }
    if (v[5] >= 2) {
        gi_op_gemv_norm(&run->recorder, "y", &weight, &stream, y);
    } else {
        gi_op_gemv(&run->recorder, "y", &weight, x, 0, false, y);
    }
    return kt_weight_bytes(&weight);
}

static const char *const parts[] = {"whole", "in parts"};
static const struct kt_axis plain_axes[] = {KT_GEMV_TYPES,
                                            KT_GEMV_FORMS,
                                            KT_NUMBERS("rows", 16, 48, 80, 960),
                                            KT_NUMBERS("columns", 32, 64, 96, 576, 1536),
                                            KT_NAMED("parts", 2, parts),
                                            KT_NAMED("input", 4, plain_inputs)};
KT_DESCRIBE(gemv_plain, plain_axes);
