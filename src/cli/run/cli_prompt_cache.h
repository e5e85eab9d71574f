// A file with the state of the session that processed a prompt, for the next prompt that begins
// with the same tokens.
#ifndef CLI_PROMPT_CACHE_H
#define CLI_PROMPT_CACHE_H

#include "cli/common/cli_session.h"

struct cli_prompt_cache {
    const char *path; // NULL: none
    bool is_read_only;
    bool has_answers; // the answer is kept too
    size_t n_reused;  // tokens of the prompt that the file had
};

// Returns false, with the reason printed, if the file could not be written after the answer.
bool cli_prompt_cache_check(const struct cli_prompt_cache *cache);
// Loads the file, if there is one, and sets n_reused; the rest of ids, at least one, is for the
// caller to process. False, with the reason printed, if it cannot be taken.
bool cli_prompt_cache_load(struct cli_prompt_cache *cache, struct glinfer_session *session,
                           const struct cli_ids *ids);
// Saves the part of ids that the session still holds, or everything with the answer, unless the
// file has it already. Returns false with the reason printed.
bool cli_prompt_cache_save(const struct cli_prompt_cache *cache, struct glinfer_session *session,
                           const struct cli_ids *ids);

#endif
