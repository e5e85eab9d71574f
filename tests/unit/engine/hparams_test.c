#include "graph/hparams.h"
#include "graph/model_family.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/gguf/gguf_builder.h"

#include <math.h>

// Reads the hyperparameters of Apertus, one layer, from a file with that number for all of xIELU's.
static bool read_xielu(float number, struct glinfer_error *err)
{
    static const char *const keys[] = {"xielu.alpha_n", "xielu.alpha_p", "xielu.beta", "xielu.eps"};
    static struct gi_hparams hparams;
    struct gguf_builder b = {0};
    gguf_header(&b, 0, 4);
    for (int i = 0; i < 4; i++) {
        gguf_key(&b, keys[i], GI_GGUF_KIND_F32);
        gguf_f32(&b, number);
    }
    gguf_pad(&b, 32);
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.gguf"), err);
    assert_non_null(gguf);
    hparams = (struct gi_hparams){.n_layer = 1};
    const struct gi_hparams_reader reader = {gguf, "apertus", err};
    const bool ok = gi_model_family_find("apertus", 7)->read_hparams(&reader, &hparams);
    gi_gguf_close(gguf);
    gguf_finish(&b);
    return ok;
}

static void numbers_of_xielu_are_finite(void **state)
{
    struct glinfer_error err;
    (void)state;
    assert_true(read_xielu(0.5f, &err));
    assert_false(read_xielu(NAN, &err));
    assert_string_equal(err.message, "test.gguf: xielu.alpha_n has no number for layer 0");
    assert_false(read_xielu(INFINITY, &err));
}

static void inputs_of_layers_are_whole_blocks(void **state)
{
    static struct gi_hparams hparams;
    struct gguf_builder b = {0};
    struct glinfer_error err;
    (void)state;
    gguf_header(&b, 0, 0);
    gguf_pad(&b, 32);
    struct gi_gguf *gguf = gi_gguf_open(GI_SOURCE_MEMORY(b.data, b.size, "test.gguf"), &err);
    assert_non_null(gguf);
    const struct gi_hparams_reader reader = {gguf, "gemma4", &err};
    hparams.inputs.width = 256;
    assert_true(gi_hparams_check_inputs(&reader, &hparams));
    hparams.inputs.width = 4;
    assert_false(gi_hparams_check_inputs(&reader, &hparams));
    assert_int_equal(err.status, GLINFER_STATUS_UNSUPPORTED);
    gi_gguf_close(gguf);
    gguf_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_xielu_are_finite),
        cmocka_unit_test(inputs_of_layers_are_whole_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
