#include "tests/unit/sampler/twelve_logits.h"

#include "tests/unit/cmocka_test.h"

#include <string.h>

const float logits[N] = {1.5f, -0.25f, 3.0f, 0.5f,  2.25f,  -1.0f,
                         2.0f, 0.0f,   1.0f, -2.0f, -0.75f, 2.75f};

struct gi_sampler_params plain(void)
{
    struct gi_sampler_params params;
    gi_sampler_params_init(&params, N);
    params.seed = 20260;
    return params;
}

struct gi_sampler_chain *create(const struct gi_sampler_params *params)
{
    struct gi_sampler_chain *chain = gi_sampler_chain_create(params, NULL);
    assert_non_null(chain);
    return chain;
}

uint32_t apply(struct gi_sampler_chain *chain, uint32_t position)
{
    float own[N];
    memcpy(own, logits, sizeof(own));
    return gi_sampler_chain_apply(chain, own, NULL, position);
}
