#include "cli/serve/router/serve_model.h"

#include "cli/common/cli_io.h"
#include "cli/models/models_source.h"

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

void serve_model_init(struct serve_model *model, struct serve_settings *settings)
{
    const char *text = settings->session.model, *speech = settings->speech_model;
    *model = (struct serve_model){.settings = settings, .name = first_name(settings->alias)};
    model->variables = cli_session_variables(&settings->session);
    serve_lora_init(&model->lora, &settings->session.lora);
    model->api = (struct serve_api){
        .settings = settings,
        .model_name = !text             ? NULL
                      : settings->alias ? model->name
                                        : models_base_name(text),
        .speech_name = !speech                    ? NULL
                       : !text && settings->alias ? model->name
                                                  : models_base_name(speech),
        .started = (int64_t)time(NULL),
        .variables = model->variables,
        .lora = &model->lora,
    };
}

void serve_model_finish(struct serve_model *model)
{
    if (!model->settings) {
        return;
    }
    serve_model_close(model);
    serve_lora_finish(&model->lora);
    cJSON_free(model->variables);
    free(model->name);
}

bool serve_model_open(struct serve_model *model)
{
    model->api.scheduler = model->scheduler = serve_scheduler_create(model->settings);
    return model->scheduler;
}

void serve_model_close(struct serve_model *model)
{
    serve_scheduler_destroy(model->scheduler);
    model->api.scheduler = model->scheduler = NULL;
}
