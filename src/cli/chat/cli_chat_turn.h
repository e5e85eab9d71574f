// The model's side of a chat: fits the conversation into the context, reuses what the session holds
// already and answers the last message.
#pragma once

#include "cli/chat/cli_conversation.h"
#include "cli/chat/cli_thoughts.h"
#include "cli/common/cli_session.h"
#include "cli/sampling/cli_sampling.h"

struct cli_turns {
    // Set by the owner:
    const struct cli_sampling *sampling;
    int64_t n_predict; // tokens of an answer at most; -1: to the end of the context
    struct cli_session *session;
    struct cli_conversation conversation;
    uint64_t seed; // of the first answer
    // Kept here:
    size_t n_forgotten;  // messages after the system message that the context has no room for
    struct cli_ids ids;  // the conversation of the request
    struct cli_ids held; // tokens that the session holds for certain
    struct cli_bytes answer;
    struct cli_ids answer_ids;
    struct cli_thoughts thoughts;
    size_t n_reused; // tokens of ids that were not processed again
    uint64_t n_turns;
    struct glinfer_stats stats; // of the last answer
};

enum cli_turn {
    CLI_TURN_DONE,
    CLI_TURN_STOPPED, // by Ctrl-C: the question stays, with what was shown of the answer, if any
    CLI_TURN_REFUSED, // the conversation is as before, the reason was printed
    CLI_TURN_OUTPUT,  // standard output takes no more
};

// Asks text and prints the answer as it comes; both are then part of the conversation.
enum cli_turn cli_turns_ask(struct cli_turns *turns, const struct cli_bytes *text);
// Answers the last question again, by another seed; it may lack an answer. The old answer stays
// if there is no new one.
enum cli_turn cli_turns_retry(struct cli_turns *turns);
// Forgets the last question and its answer; false if there is none.
bool cli_turns_undo(struct cli_turns *turns);
// Returns true if the last question has no answer.
bool cli_turns_is_open(const struct cli_turns *turns);
// Begins anew with a conversation that was put in the place of another.
void cli_turns_begin(struct cli_turns *turns);
// Forgets all but the system message.
void cli_turns_reset(struct cli_turns *turns);
void cli_turns_finish(struct cli_turns *turns);
