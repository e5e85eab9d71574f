// The text of a tuning on any bytes: what it accepts is written, and read again to the same.
#include "ops/record/tuning.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static char *rewrite(const char *text, size_t size, size_t *out_size)
{
    struct gi_tuning *tuning = gi_tuning_create(NULL);
    char *out = NULL;
    if (tuning && gi_tuning_parse(tuning, text, size, NULL) >= 0) {
        out = gi_tuning_format(tuning, out_size, NULL);
    }
    gi_tuning_destroy(tuning);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t first_size = 0, second_size = 0;
    char *first = rewrite((const char *)data, size, &first_size);
    char *second = first ? rewrite(first, first_size, &second_size) : NULL;
    if (second && (first_size != second_size || memcmp(first, second, first_size) != 0)) {
        abort();
    }
    free(first);
    free(second);
    return 0;
}
