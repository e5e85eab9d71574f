#include "engine/session/saved/checkpoints.h"

#include "engine/session/saved/cache_rows.h"

static const struct gi_hparams *hparams_of(const struct glinfer_session *session)
{
    return &session->model->hparams;
}

//-- buffers ---------------------------------------------------------------------------------------

static bool allocate(struct glinfer_session *session, struct gi_checkpoint *checkpoint)
{
    const uint64_t size = gi_states_size(hparams_of(session));
    struct glinfer_error err;
    if (!gi_model_reserve(session->model, size, 0, "a checkpoint needs", "do without", &err)) {
        return false;
    }
    if (!gi_buffer_init(&checkpoint->buffer, gi_session_gpu(session), size, "checkpoint", &err)) {
        session->model->used -= size;
        return false;
    }
    return true;
}

// Returns the number of tokens that would be computed again without a checkpoint: those after the
// one before it.
static uint32_t count_saved(const struct gi_sequence *sequence, uint32_t n)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < GI_MAX_CHECKPOINTS; i++) {
        const uint32_t other = sequence->checkpoints[i].n;
        before = other < n && other > before ? other : before;
    }
    return n - before;
}

// Returns a checkpoint with a buffer for other states: an unused or a new one or, with no memory
// for that, the one that saves the fewest tokens. NULL: the session has none.
static struct gi_checkpoint *find_place(struct glinfer_session *session)
{
    struct gi_sequence *sequence = &session->sequence;
    struct gi_checkpoint *least = NULL, *missing = NULL;
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < session->params.n_checkpoints; i++) {
        struct gi_checkpoint *checkpoint = &sequence->checkpoints[i];
        if (!checkpoint->buffer.name) {
            missing = missing ? missing : checkpoint;
        } else if (checkpoint->n == 0) {
            return checkpoint;
        } else if (count_saved(sequence, checkpoint->n) < fewest) {
            fewest = count_saved(sequence, checkpoint->n);
            least = checkpoint;
        }
    }
    return missing && allocate(session, missing) ? missing : least;
}

void gi_checkpoints_release(struct glinfer_session *session)
{
    for (uint32_t i = 0; i < GI_MAX_CHECKPOINTS; i++) {
        struct gi_checkpoint *checkpoint = &session->sequence.checkpoints[i];
        if (checkpoint->buffer.name) {
            session->model->used -= gi_states_size(hparams_of(session));
            gi_buffer_finish(&checkpoint->buffer, gi_session_gpu(session));
        }
        checkpoint->n = 0;
    }
}

//-- copies ----------------------------------------------------------------------------------------

static bool is_there(const struct gi_sequence *sequence, uint32_t n)
{
    for (uint32_t i = 0; i < GI_MAX_CHECKPOINTS; i++) {
        if (sequence->checkpoints[i].n == n) {
            return true;
        }
    }
    return false;
}

void gi_checkpoints_copy(struct glinfer_session *session, uint32_t n)
{
    struct gi_sequence *sequence = &session->sequence;
    if (sequence->is_recurrent && sequence->n_state == n && n > 0 && sequence->n_copied != n &&
        !is_there(sequence, n)) {
        sequence->n_copied = n;
        gi_cache_states_copy(sequence, n, sequence, 0, hparams_of(session),
                             gi_session_gpu(session));
    }
}

void gi_checkpoints_add(struct glinfer_session *session, uint32_t n)
{
    struct gi_sequence *sequence = &session->sequence;
    if (!sequence->is_recurrent || sequence->n_state != n || n == 0 || is_there(sequence, n)) {
        return;
    }
    struct gi_checkpoint *checkpoint = find_place(session);
    if (checkpoint) {
        checkpoint->n = n;
        gi_cache_states_copy(sequence, n, sequence, 0, hparams_of(session),
                             gi_session_gpu(session));
    }
}

void gi_checkpoints_expect(struct glinfer_session *session, const struct gi_state_head *head,
                           uint32_t n)
{
    struct gi_sequence *sequence = &session->sequence;
    for (uint32_t i = 0; i < head->n_checkpoints && head->checkpoints[i] <= n; i++) {
        const bool is_last = i + 1 == head->n_checkpoints || head->checkpoints[i + 1] > n;
        struct gi_checkpoint *checkpoint = is_last ? NULL : find_place(session);
        if (is_last) {
            sequence->n_copied = head->checkpoints[i];
        } else if (checkpoint) {
            checkpoint->n = head->checkpoints[i];
        }
    }
}

void gi_checkpoints_return(struct glinfer_session *session)
{
    struct gi_sequence *sequence = &session->sequence;
    const bool is_right = !sequence->is_stale && sequence->n_state == sequence->n_past;
    const uint32_t n = gi_sequence_ready(sequence, sequence->n_past);
    if (sequence->is_recurrent && !is_right && n > 0) {
        gi_cache_states_copy(sequence, 0, sequence, n, hparams_of(session),
                             gi_session_gpu(session));
        sequence->n_state = sequence->n_sound = n;
        sequence->is_stale = n < sequence->n_past;
    }
}

void gi_checkpoints_take(struct glinfer_session *session, const struct gi_sequence *from,
                         uint32_t n)
{
    gi_cache_states_copy(&session->sequence, 0, from, n, hparams_of(session),
                         gi_session_gpu(session));
}
