// The probabilities of tokens, in the shape that llama-server and OpenAI's chats share.
#include "cli/common/cli_json.h"
#include "cli/serve/answer/serve_answer.h"

#include <float.h>
#include <math.h>

enum { MAX_PROBS = 64 }; // log-probabilities of a token that the library returns

float serve_token_logprob(const struct serve_event *event, const struct glinfer_prob *probs)
{
    for (size_t i = 0; i < event->n_probs; i++) {
        if (probs[i].id == event->id) {
            return probs[i].logprob;
        }
    }
    return -9999.0F;
}

// Adds a token with its log-probability, or the probability that it was chosen with.
static void add_prob(const struct serve_answer *answer, cJSON *json, int32_t id, float logprob)
{
    size_t size = 0;
    const char *bytes = glinfer_token_bytes(answer->tokenizer, id, &size);
    cJSON_AddNumberToObject(json, "id", id);
    cJSON_AddItemToObject(json, "token", cli_json_text(bytes, size));
    cJSON_AddItemToObject(json, "bytes", cli_json_bytes(bytes, bytes ? size : 0));
    cli_json_add_float(json, answer->has_chosen_probs ? "prob" : "logprob", logprob);
}

// Applies top_k, top_p, min_p and the temperature to the likeliest tokens. Sets each to the
// probability that it was chosen with, and returns the number of those that were left.
static size_t choose_probs(const struct glinfer_generate_params *params, size_t n,
                           const struct glinfer_prob *from, struct glinfer_prob *to)
{
    double sum = 0, kept = 0;
    size_t left = 0;
    n = params->temperature <= 0 ? 1 : params->top_k > 0 && params->top_k < n ? params->top_k : n;
    for (size_t i = 0; i < n; i++) {
        sum += exp((double)from[i].logprob);
    }
    for (; left < n && (params->top_p <= 0 || params->top_p >= 1 || kept < params->top_p * sum) &&
           from[left].logprob >= from[0].logprob + log((double)params->min_p);
         left++) {
        kept += exp((double)from[left].logprob);
    }
    sum = 0;
    for (size_t i = 0; i < left; i++) {
        const double scaled = params->temperature > 0 ? params->temperature : 1;
        to[i] = from[i];
        to[i].logprob = (float)exp((from[i].logprob - from[0].logprob) / scaled);
        sum += to[i].logprob;
    }
    for (size_t i = 0; i < left; i++) {
        to[i].logprob = (float)(to[i].logprob / sum);
    }
    return left;
}

cJSON *serve_list_probs(struct serve_answer *answer, struct serve_choice *choice,
                        const struct serve_event *event, const struct glinfer_prob *probs)
{
    (void)choice;
    struct glinfer_prob chosen[MAX_PROBS];
    struct serve_event own = *event;
    const bool is_chosen = answer->has_chosen_probs && event->n_probs <= MAX_PROBS;
    if (is_chosen) {
        own.n_probs = choose_probs(&answer->task->params, event->n_probs, probs, chosen);
        probs = chosen;
    }
    cJSON *json = cJSON_CreateObject();
    const float own_prob = serve_token_logprob(&own, probs);
    add_prob(answer, json, event->id, is_chosen && own_prob < 0 ? FLT_MIN : own_prob);
    cJSON *top = cJSON_AddArrayToObject(json, is_chosen ? "top_probs" : "top_logprobs");
    for (size_t i = 0; i < own.n_probs && i < answer->n_top; i++) {
        add_prob(answer, cli_json_append(top), probs[i].id, probs[i].logprob);
    }
    return json;
}
