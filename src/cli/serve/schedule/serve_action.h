// Saves, restores or erases the content of a slot, for /slots/ID?action=.
#ifndef SERVE_ACTION_H
#define SERVE_ACTION_H

#include "glinfer.h"

enum serve_action_kind {
    SERVE_ACTION_NONE,
    SERVE_ACTION_SAVE,
    SERVE_ACTION_RESTORE,
    SERVE_ACTION_ERASE,
};

struct serve_action {
    enum serve_action_kind kind;
    char *path; // of the file; owned. NULL: the action needs no file
};

struct serve_action_result {
    size_t n_tokens;
    uint64_t size; // bytes of the file
    double ms;
};

// Runs an action. Fails as glinfer_session_save and glinfer_session_load do; after a failed restore
// the slot is empty.
bool serve_action_run(const struct serve_action *action, struct glinfer_session *session,
                      struct serve_action_result *result, struct glinfer_error *err);

#endif
