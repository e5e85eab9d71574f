// The prompt of `glinfer run`: from the command line, a file or standard input.
#pragma once

#include "cli/common/cli_args.h"
#include "cli/common/cli_memory.h"
#include "cli/common/cli_session.h"

struct cli_prompt_flags {
    const char *text, *file;
    const char *system, *system_file; // the file's contents
    bool has_escapes, has_no_escapes; // asked for, and forbidden
};

struct cli_prompt {
    struct cli_bytes text, system;
};

// Returns a text of the command line, its escapes read unless that is forbidden.
void cli_prompt_copy(const struct cli_prompt_flags *flags, const char *text,
                     struct cli_bytes *bytes);
// Reads the prompt and the system message. If standard input is a pipe or a file, appends it to the
// text of -p and prints a note. Returns false with the reason printed.
bool cli_prompt_read(const struct cli_prompt_flags *flags, struct cli_prompt *prompt);
void cli_prompt_finish(struct cli_prompt *prompt);

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
