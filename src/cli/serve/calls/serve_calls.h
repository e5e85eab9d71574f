// Finds and reads calls of tools in the text that a model writes.
#pragma once

#include "cli/serve/calls/serve_styles.h"

#include <cjson/cJSON.h>

// Returns where calls begin in a text that was cut, perhaps within a trigger; its size if it has
// none. A single character at its end is not taken for the beginning of a trigger.
size_t serve_find_cut_call(const struct serve_call_style *style, const char *text, size_t size);
// Returns how many bytes of a text that goes on are certainly not part of a call.
size_t serve_count_shown(const struct serve_call_style *style, const char *text, size_t size);
// Reads the calls in a whole text into OpenAI's list and sets *shown to the size of the text before
// them. tools: the request's, whose schemas tell strings from other values; NULL: none. Returns
// NULL, with *shown unchanged, if there is no call.
cJSON *serve_read_calls(const struct serve_call_style *style, const cJSON *tools, const char *text,
                        size_t size, size_t *shown);
// Reads the calls in a text that grows, from the beginning of the first call; the last call may be
// incomplete. Arguments only get longer as the text grows, and end as those of serve_read_calls.
cJSON *serve_read_begun_calls(const struct serve_call_style *style, const cJSON *tools,
                              const char *text, size_t size);
