#include "cli/serve/schedule/serve_task.h"

#include "cli/serve/schedule/serve_speech.h"

#include <stdlib.h>
#include <string.h>

void serve_places_add(struct serve_places *places, size_t at)
{
    uint32_t i = places->n;
    while (i > 0 && places->at[i - 1] >= at) {
        i--;
    }
    if (at == 0 || places->n == SERVE_MAX_PLACES || (i < places->n && places->at[i] == at)) {
        return;
    }
    memmove(places->at + i + 1, places->at + i, (places->n - i) * sizeof(places->at[0]));
    places->at[i] = (uint32_t)at;
    places->n++;
}

struct serve_task *serve_task_create(cJSON *body)
{
    struct serve_task *task = cli_alloc(1, sizeof(*task));
    atomic_init(&task->n_refs, 1);
    atomic_init(&task->is_cancelled, false);
    serve_mailbox_init(&task->mailbox);
    task->body = body;
    task->slot = -1;
    glinfer_generate_params_init(&task->params);
    glinfer_samplers_init(&task->samplers);
    glinfer_grammar_init(&task->grammar);
    task->samplers.logit_bias = task->biases;
    task->params.samplers = &task->samplers;
    task->params.stop = task->stops;
    return task;
}

struct serve_job *serve_task_add(struct serve_task *task)
{
    task->jobs =
        cli_reserve(task->jobs, &task->job_capacity, task->n_jobs + 1, sizeof(task->jobs[0]));
    struct serve_job *job = &task->jobs[task->n_jobs];
    *job = (struct serve_job){.task = task, .choice = task->n_jobs++, .n_before = UINT32_MAX};
    return job;
}

struct serve_task *serve_task_ref(struct serve_task *task)
{
    atomic_fetch_add(&task->n_refs, 1);
    return task;
}

void serve_task_unref(struct serve_task *task)
{
    if (!task || atomic_fetch_sub(&task->n_refs, 1) > 1) {
        return;
    }
    for (uint32_t i = 0; i < task->n_jobs; i++) {
        free(task->jobs[i].prompt.items);
        serve_budget_finish(&task->jobs[i].budget);
    }
    free(task->jobs);
    serve_mailbox_finish(&task->mailbox);
    cJSON_Delete(task->body);
    free(task->order);
    free(task->grammar_text);
    for (size_t i = 0; i < task->schemas.count; i++) {
        cJSON_free(task->schemas.items[i]);
    }
    free(task->schemas.items);
    serve_speech_destroy(task->speech);
    free(task->action.path);
    free(task);
}

void serve_job_fail(struct serve_job *job, const struct glinfer_error *err)
{
    const struct serve_event event = {.kind = SERVE_EVENT_FAIL,
                                      .choice = job->choice,
                                      .status = err->status,
                                      .text_size = strlen(err->message)};
    serve_mailbox_send(&job->task->mailbox, &event, err->message, NULL);
    serve_task_unref(job->task);
}
