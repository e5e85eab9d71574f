#include "hf/tokenizer/hf_tokenizer.h"

bool gi_hf_add_tokenizer(struct gi_hf_build *b, const char *folder)
{
    (void)folder;
    gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED, "tokenizer.json is not supported yet");
    return false;
}
