// Rules of the arguments of calls, in the notation of a style and by the schemas of tools.
#pragma once

#include "cli/serve/calls/serve_writer.h"

// Appends the arguments of a tool to a rule. Arguments that stand by themselves come in the order
// of the schema, in Gemma's notation in the order of their names, as its template has them.
void serve_write_arguments(struct serve_writer *writer, const cJSON *parameters);
// Writes the rules that the arguments of all tools share.
void serve_write_argument_rules(struct serve_writer *writer);
