// Feeds bytes to the compiler of JSON schemas, which returns a grammar or a sentence.
#include "grammar/grammar.h"
#include "grammar/schema/json_schema.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = gi_json_schema_create((const char *)data, size, NULL, &err);
    FUZZ_CHECK(grammar || err.message[0]);
    gi_grammar_destroy(grammar);
    return 0;
}
