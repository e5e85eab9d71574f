// Feeds bytes to the reader of verdicts: a line that it accepts is the one that would be written.
#include "persistent/persistent_verdict.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct gi_hash key = {.lo = 1, .hi = 2};
    char again[GI_VERDICT_LINE_SIZE];
    char *line = strndup((const char *)data, size);
    FUZZ_CHECK(line);
    const struct gi_verdict verdict = gi_verdict_parse(line, &key);
    if (verdict.kind != GI_VERDICT_NONE) {
        gi_verdict_format(&verdict, &key, again);
        FUZZ_CHECK(strcmp(again, line) == 0);
    } else {
        FUZZ_CHECK(verdict.multi_ns == 0 && verdict.persistent_ns == 0);
    }
    free(line);
    return 0;
}
