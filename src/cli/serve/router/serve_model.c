#include "cli/serve/router/serve_model.h"

#include "cli/models/models_source.h"

#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

// Returns the first of names with commas between them in the order of the alphabet, which is the id
// that llama-server gives a model; the caller frees it. NULL: none.
static char *first_name(const char *names)
{
    char *own = names ? cli_copy(names) : NULL, *rest = own, *first = NULL;
    for (char *name; (name = strsep(&rest, ","));) {
        first = name[0] && (!first || strcmp(name, first) < 0) ? name : first;
    }
    first = first ? cli_copy(first) : NULL;
    free(own);
    return first;
}

void serve_model_init(struct serve_model *model, struct serve_settings *settings, bool has_ending)
{
    *model = (struct serve_model){.settings = settings, .name = first_name(settings->alias)};
    if (!has_ending) { // it is a speech model
        model->name = cli_copy(models_base_name(settings->speech_model));
        const size_t size = models_stem_size(model->name);
        model->name[size > 0 ? size : strlen(model->name)] = '\0';
    }
    serve_model_prepare(model);
}

void serve_model_prepare(struct serve_model *model)
{
    const struct serve_settings *settings = model->settings;
    const char *text = settings->session.model, *speech = settings->speech_model;
    model->variables = cli_session_variables(&settings->session);
    serve_lora_init(&model->lora, &settings->session.lora);
    model->api = (struct serve_api){
        .settings = settings,
        .model_name = !text         ? NULL
                      : model->name ? model->name
                                    : models_base_name(text),
        .speech_name = !speech                ? NULL
                       : !text && model->name ? model->name
                                              : models_base_name(speech),
        .started = (int64_t)time(NULL),
        .variables = model->variables,
        .lora = &model->lora,
        .info = &model->info,
    };
}

void serve_model_finish(struct serve_model *model)
{
    serve_model_close(model);
    serve_api_forget(model->kept);
    serve_lora_finish(&model->lora);
    cJSON_free(model->variables);
    for (size_t i = 0; i < model->texts.count; i++) {
        free(model->texts.items[i]);
    }
    free(model->texts.items);
    free(model->origin ? model->settings : NULL);
    free(model->origin);
    free(model->path);
    free(model->name);
    free(model->template_text);
}

bool serve_model_inspect(struct serve_model *model, struct glinfer_error *err)
{
    struct glinfer_model_params params;
    struct glinfer_model_info *info = &model->info;
    cli_session_params(&model->settings->session, model->path, &params);
    params.mem_budget = 0;
    info->struct_size = sizeof(*info);
    if (!glinfer_model_inspect(&params, info, err)) {
        return false;
    }
    if (!info->is_speech) { // for all slots
        params.n_sessions = (uint32_t)model->settings->n_slots;
        if (!glinfer_model_inspect(&params, info, err)) {
            return false;
        }
    }
    model->needed = info->weights + info->kv_cache + info->scratch;
    if (!info->is_supported) {
        *err = (struct glinfer_error){.status = GLINFER_STATUS_UNSUPPORTED};
        snprintf(err->message, sizeof(err->message), "%s", info->refusal);
    }
    return info->is_supported;
}

bool serve_model_open(struct serve_model *model, uint64_t budget)
{
    model->settings->session.mem_budget = budget;
    model->scheduler = serve_scheduler_create(model->settings, &model->counts);
    return model->scheduler;
}

bool serve_model_wait(struct serve_model *model, struct glinfer_error *err)
{
    struct pollfd ready = {.fd = serve_scheduler_ready_fd(model->scheduler), .events = POLLIN};
    while (poll(&ready, 1, -1) < 1) {
    }
    if (serve_scheduler_state(model->scheduler) == SERVE_OVER) {
        *err = *serve_scheduler_failure(model->scheduler);
        return false;
    }
    return true;
}

void serve_model_show(struct serve_model *model)
{
    const struct glinfer_model_info *info = serve_scheduler_info(model->scheduler);
    model->api.scheduler = model->scheduler;
    if (!model->info.struct_size) {
        model->info = *info;
        model->needed = info->weights + info->kv_cache + info->scratch;
    }
    if (model->api.model_name && !model->template_text &&
        serve_scheduler_state(model->scheduler) != SERVE_LOADING) {
        const char *text = glinfer_chat_template_text(serve_scheduler_tokenizer(model->scheduler));
        model->api.template_text = model->template_text = cli_copy(text ? text : "");
    }
}

struct serve_reply *serve_model_tell(const struct serve_model *model)
{
    struct serve_api api = model->api;
    api.is_sleeping = true;
    return serve_api_keep(&api);
}

const char *serve_model_name(const struct serve_model *model)
{
    return model->api.model_name ? model->api.model_name : model->api.speech_name;
}

void serve_model_close(struct serve_model *model)
{
    struct serve_snapshot seen;
    if (model->scheduler) {
        serve_scheduler_stop(model->scheduler);
        serve_scheduler_look(model->scheduler, &seen);
        model->counts = seen.counts;
    }
    serve_scheduler_destroy(model->scheduler);
    model->scheduler = NULL;
#ifdef M_TRIM_THRESHOLD
    malloc_trim(0); // glibc keeps what is free
#endif
}
