#include "cli/profile/cli_plan.h"

#include "cli/common/cli_json.h"

struct plan {
    cJSON *dispatches, *submissions; // NULL: a table
    uint32_t n_submission;
    double longest_ns, sum_ns; // of submissions
};

static void print_planned(const struct plan *plan, const struct glinfer_planned *planned)
{
    if (planned->label) {
        printf("%10u  %6u  %-14s %10.3f  %6u  %s\n", plan->n_submission + 1, planned->n_tokens,
               planned->label, planned->ns / 1e6, planned->n_pieces, planned->program);
    } else {
        printf("%10u  %6s  %-14s %10.3f\n", plan->n_submission + 1, "", "together",
               planned->ns / 1e6);
    }
}

static void add_planned(const struct plan *plan, const struct glinfer_planned *planned)
{
    if (!planned->label) {
        cJSON_AddItemToArray(plan->submissions, cJSON_CreateNumber(planned->ns));
        return;
    }
    cJSON *object = cli_json_append(plan->dispatches);
    cJSON_AddStringToObject(object, "kernel", planned->label);
    cJSON_AddStringToObject(object, "program", planned->program);
    cJSON_AddNumberToObject(object, "tokens", planned->n_tokens);
    cJSON_AddNumberToObject(object, "pieces", planned->n_pieces);
    cJSON_AddNumberToObject(object, "submission", plan->n_submission);
    cJSON_AddNumberToObject(object, "ns", planned->ns);
}

static void take_planned(void *user, const struct glinfer_planned *planned)
{
    struct plan *plan = user;
    if (plan->dispatches) {
        add_planned(plan, planned);
    } else {
        print_planned(plan, planned);
    }
    if (!planned->label) {
        plan->n_submission++;
        plan->sum_ns += planned->ns;
        plan->longest_ns = planned->ns > plan->longest_ns ? planned->ns : plan->longest_ns;
    }
}

static void begin_stage(struct plan *plan, const struct cli_plan_stage *stage, cJSON *stages)
{
    if (stages) {
        cJSON *object = cli_json_append(stages);
        cJSON_AddStringToObject(object, "stage", stage->n_prompt > 0 ? "prompt" : "decode");
        cJSON_AddNumberToObject(object, "n_prompt", stage->n_prompt);
        cJSON_AddNumberToObject(object, "n_depth", stage->depth);
        plan->submissions = cJSON_AddArrayToObject(object, "submission_ns");
        plan->dispatches = cJSON_AddArrayToObject(object, "dispatches");
        return;
    }
    if (stage->n_prompt > 0) {
        printf("\nprompt of %u tokens at depth %u", stage->n_prompt, stage->depth);
    } else {
        printf("\ndecode step at depth %u", stage->depth);
    }
    printf(", planned before anything is measured\n%10s  %6s  %-14s %10s  %6s  %s\n", "submission",
           "tokens", "kernel", "ms", "pieces", "program");
}

static bool plan_stage(struct cli_session *session, const struct cli_plan_stage *stage,
                       cJSON *stages)
{
    struct plan plan = {.longest_ns = 0};
    struct glinfer_profile_params params;
    struct glinfer_error err;
    glinfer_profile_params_init(&params);
    params.n_runs = 1;
    params.n_prompt = stage->n_prompt;
    params.depth = stage->depth;
    params.on_planned = take_planned;
    params.user = &plan;
    begin_stage(&plan, stage, stages);
    if (!glinfer_profile(session->session, &params, NULL, &err)) {
        return cli_fail(CLI_EXIT_FAILED, "%s", err.message);
    }
    if (!stages) {
        printf("%u submissions, the longest of %.1f ms, %.1f ms together\n", plan.n_submission,
               plan.longest_ns / 1e6, plan.sum_ns / 1e6);
    }
    return true;
}

bool cli_plan_print(struct cli_session *session, const struct cli_plan_stage *stages, size_t n,
                    bool is_json)
{
    cJSON *object = is_json ? cJSON_CreateObject() : NULL;
    cJSON *array = is_json ? cJSON_AddArrayToObject(object, "stages") : NULL;
    bool is_done = true;
    for (size_t i = 0; is_done && i < n; i++) {
        is_done = plan_stage(session, &stages[i], array);
    }
    if (!is_done) {
        cJSON_Delete(object);
        return false;
    }
    return is_json ? cli_json_print(object) : cli_close_output();
}
