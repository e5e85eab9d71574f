#include "cli/common/cli_session.h"

#include <stdlib.h>

bool cli_parse_chain(const char *text, void *field, char *why, size_t size)
{
    char *end;
    if (strcmp(text, "auto") == 0) {
        *(int64_t *)field = 0;
        return true;
    }
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > 256) {
        snprintf(why, size, "auto or a number from 1 to 256");
        return false;
    }
    *(int64_t *)field = value;
    return true;
}

bool cli_parse_template(const char *text, void *field, char *why, size_t size)
{
    const char *name;
    size_t used = 0;
    why[0] = '\0';
    for (size_t i = 0; (name = glinfer_chat_template_at(i)) != NULL; i++) {
        if (strcmp(text, name) == 0) {
            *(const char **)field = text;
            return true;
        }
        if (used < size) {
            used += (size_t)snprintf(why + used, size - used, "%s%s", i ? ", " : "one of ", name);
        }
    }
    return false;
}

void cli_session_init(struct cli_session *session, const struct cli_session_flags *flags)
{
    memset(session, 0, sizeof(*session));
    session->flags = flags;
    cli_bar_init(&session->bar);
}

static void fill_model_params(struct cli_session *session, struct glinfer_model_params *params)
{
    const struct cli_session_flags *flags = session->flags;
    glinfer_model_params_init(params);
    params->path = flags->model;
    params->chat_template = flags->chat_template;
    params->mem_budget = flags->mem_budget;
    params->n_ctx = (uint32_t)flags->n_ctx;
    params->type_k = (enum glinfer_cache_type)flags->type_k;
    params->type_v = (enum glinfer_cache_type)flags->type_v;
    params->progress = cli_progress;
    params->progress_user = &session->bar;
}

int cli_session_check(struct cli_session *session)
{
    struct glinfer_model_params params;
    int status = CLI_EXIT_DONE;
    fill_model_params(session, &params);
    cli_model_check(&params, &session->info, &status);
    return status;
}

int cli_session_load(struct cli_session *session)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    fill_model_params(session, &params);
    int status = CLI_EXIT_DONE;
    session->device = cli_device_open(&session->flags->device, &session->device_info, &status);
    if (!session->device) {
        return status;
    }
    session->model = glinfer_model_load(session->device, &params, &err);
    cli_bar_clear(&session->bar);
    return session->model ? CLI_EXIT_DONE : cli_fail_error(&err);
}

uint32_t cli_context(const struct glinfer_device_info *device,
                     const struct glinfer_model_info *model, uint32_t n_ctx)
{
    const uint32_t usual = model->n_ctx_train < 4096 ? model->n_ctx_train : 4096;
    return device->is_persistent && n_ctx <= usual ? 0 : n_ctx;
}

int cli_session_start(struct cli_session *session, const struct glinfer_generate_params *expected)
{
    const struct cli_session_flags *flags = session->flags;
    struct glinfer_error err;
    struct glinfer_session_params params;
    glinfer_session_params_init(&params);
    params.n_ctx = (uint32_t)flags->n_ctx;
    if (session->is_least_ctx) {
        params.n_ctx = cli_context(&session->device_info, &session->info, params.n_ctx);
    }
    params.type_k = (enum glinfer_cache_type)flags->type_k;
    params.type_v = (enum glinfer_cache_type)flags->type_v;
    params.precision = (enum glinfer_precision)flags->precision;
    params.n_batch = (uint32_t)(flags->n_batch > 512 ? 512 : flags->n_batch);
    params.chain_length = (uint32_t)flags->chain;
    params.max_batch_ms = (uint32_t)flags->max_batch_ms;
    params.progress = cli_progress;
    params.progress_user = &session->bar;
    params.expected = expected;
    const double begin = cli_now();
    session->session = glinfer_session_create(session->model, &params, &err);
    session->compile_ms = 1e3 * (cli_now() - begin);
    cli_bar_clear(&session->bar);
    cli_set_session(session->session);
    return session->session ? CLI_EXIT_DONE : cli_fail_error(&err);
}

void cli_session_stop(struct cli_session *session)
{
    cli_set_session(NULL);
    glinfer_session_destroy(&session->session);
}

void cli_session_finish(struct cli_session *session)
{
    cli_session_stop(session);
    glinfer_model_destroy(&session->model);
    glinfer_device_destroy(&session->device);
}

double cli_per_second(uint32_t n, double ms)
{
    return ms > 0 ? n * 1000.0 / ms : 0;
}

uint32_t cli_timed_tokens(const struct glinfer_stats *stats)
{
    return stats->predicted_n > 0 ? stats->predicted_n - 1 : 0;
}

static void print_speed(const char *what, uint32_t n, uint32_t n_timed, double ms)
{
    fprintf(stderr, "%-7s %6u tokens  %9.1f ms  %8.2f tokens/s\n", what, n, ms,
            cli_per_second(n_timed, ms));
}

void cli_print_speeds(const struct glinfer_stats *stats)
{
    print_speed("prompt", stats->prompt_n, stats->prompt_n, stats->prompt_ms);
    if (stats->predicted_n == 1) {
        fprintf(stderr, "answer       1 token, which came with the prompt\n");
    } else if (stats->predicted_n > 1) {
        print_speed("answer", stats->predicted_n, cli_timed_tokens(stats), stats->predicted_ms);
    } else {
        fprintf(stderr, "answer       0 tokens\n");
    }
}
