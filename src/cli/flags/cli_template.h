// The chat template of a model: whether there is one, and whether the vocabulary has its turns.
#pragma once

#include "cli/common/cli_session.h"

// Returns true if the model has a chat template that is known, or one was chosen; otherwise prints
// what to do.
bool cli_template_check(const struct cli_session *session);
// Chooses chatml, with a note, for a model that generates text and has no chat template, as
// llama-server does.
void cli_template_choose(const struct cli_session *session, struct cli_session_flags *flags);
// Returns true if the model has no chat template and none was chosen, as base models do.
bool cli_template_is_missing(const struct cli_session *session);
// Says so where the tokens that begin turns are not in the model's vocabulary.
void cli_template_warn(const struct cli_session *session);
