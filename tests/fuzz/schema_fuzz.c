// Feeds bytes to the reader of JSON schemas; what becomes a grammar is a grammar, or allows
// nothing, or is too large.
#include "grammar/grammar.h"
#include "grammar/schema/json_schema.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gi_schema_grammar text = {0};
    struct glinfer_error err = {0};
    if (!gi_json_schema_grammar((const char *)data, size, &text, &err)) {
        FUZZ_CHECK(err.message[0] && !text.data);
        return 0;
    }
    struct gi_grammar *grammar = gi_schema_grammar_create(&text, NULL, &err);
    FUZZ_CHECK(grammar || err.status == GLINFER_STATUS_UNSUPPORTED ||
               strstr(err.message, "too large"));
    gi_grammar_destroy(grammar);
    free(text.data);
    return 0;
}
