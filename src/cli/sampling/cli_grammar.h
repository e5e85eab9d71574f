// Flags of the grammar that an answer keeps to, with llama-cli's names.
#ifndef CLI_GRAMMAR_H
#define CLI_GRAMMAR_H

#include "cli/common/cli_args.h"
#include "cli/flags/cli_text_file.h"
#include "glinfer.h"

// Sets what glinfer_grammar_init sets.
#define CLI_GRAMMAR_DEFAULTS                                                                       \
    {                                                                                              \
        .struct_size = sizeof(struct glinfer_grammar)                                              \
    }

// Rows of a flag table for settings with a field `sampling` that has a field `grammar`, a struct
// glinfer_grammar.
#define CLI_GRAMMAR_FLAGS                                                                          \
    CLI_TEXT(sampling.grammar.gbnf, "--grammar", "GBNF", "a grammar that the answer keeps to"),    \
        CLI_FILE(sampling.grammar.gbnf, cli_parse_text_file, "--grammar-file", "FILE",             \
                 "a file with the grammar"),                                                       \
        CLI_TEXT(sampling.grammar.json_schema, "-j, --json-schema", "SCHEMA",                      \
                 "the answer is JSON that a schema allows; {}: any JSON"),                         \
        CLI_FILE(sampling.grammar.json_schema, cli_parse_text_file, "-jf, --json-schema-file",     \
                 "FILE", "a file with the schema")

#endif
