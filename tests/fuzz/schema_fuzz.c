// Feeds bytes to the compiler of JSON schemas. It returns a grammar, or a sentence about the
// schema: text that is not JSON, a schema that is not supported or allows nothing, one that is too
// large.
#include "grammar/grammar.h"
#include "grammar/schema/json_schema.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// True for a failure that the schema may have. A place in a grammar is not one: nobody wrote it.
static bool is_expected(const struct glinfer_error *err)
{
    static const char schema[] = "JSON schema", grammar[] = "the grammar is too large";
    switch (err->status) {
    case GLINFER_STATUS_UNSUPPORTED:
        return strncmp(err->message, schema, strlen(schema)) == 0;
    case GLINFER_STATUS_INVALID_ARGUMENT:
        return strncmp(err->message, schema, strlen(schema)) == 0 ||
               strncmp(err->message, grammar, strlen(grammar)) == 0;
    case GLINFER_STATUS_NO_MEMORY:
        return err->message[0];
    default:
        return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glinfer_error err = {0};
    struct gi_grammar *grammar = gi_json_schema_create((const char *)data, size, NULL, &err);
    FUZZ_CHECK(grammar || is_expected(&err));
    gi_grammar_destroy(grammar);
    return 0;
}
