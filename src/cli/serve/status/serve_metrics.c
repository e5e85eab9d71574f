// Sums and gauges for Prometheus: those of llama-server by its names, and our own.
#include "cli/common/cli_session.h"
#include "cli/serve/api/serve_handlers.h"

#include <string.h>

void serve_handle_metrics(const struct serve_api *api, struct serve_reply *reply)
{
    struct serve_snapshot seen;
    struct cli_bytes text = {0};
    char line[512];
    serve_scheduler_look(api->scheduler, &seen);
    const struct serve_counts *n = &seen.counts;
    const struct {
        bool is_sum;
        const char *name, *help;
        double value;
    } metrics[] = {
        {true, "llamacpp:prompt_tokens_total", "Prompt tokens processed.", (double)n->n_prompt},
        {true, "llamacpp:prompt_tokens_cached_total", "Prompt tokens that a slot held already.",
         (double)n->n_cached},
        {true, "llamacpp:prompt_seconds_total", "Time of prompts.", n->prompt_ms / 1e3},
        {true, "llamacpp:tokens_predicted_total", "Tokens generated.", (double)n->n_predicted},
        {true, "llamacpp:tokens_predicted_seconds_total", "Time of generating them.",
         n->predicted_ms / 1e3},
        {true, "llamacpp:n_decode_total",
         "Steps: tokens, of unfinished answers too, and texts of embeddings.", (double)n->n_steps},
        {true, "llamacpp:n_tokens_max", "Most tokens that an answer and its prompt had.",
         n->n_tokens_max},
        {true, "llamacpp:spec_decode_num_drafts_total", "Drafts tried.", (double)n->n_drafts},
        {true, "llamacpp:spec_decode_num_draft_tokens_total", "Tokens drafted.",
         (double)n->n_drafted},
        {true, "llamacpp:spec_decode_num_accepted_tokens_total", "Drafted tokens accepted.",
         (double)n->n_accepted},
        {true, "glinfer:answers_total", "Answers that ended well.", (double)n->n_done},
        {true, "glinfer:answers_failed_total", "Answers that failed.", (double)n->n_failed},
        {true, "glinfer:answers_cancelled_total", "Answers whose client went away.",
         (double)n->n_cancelled},
        {true, "glinfer:device_recovered_total", "Times that the GPU was brought back.",
         (double)n->n_recovered},
        {false, "llamacpp:prompt_tokens_seconds", "Mean speed of prompts in tokens/s.",
         cli_per_second((uint32_t)n->n_prompt, n->prompt_ms)},
        {false, "llamacpp:predicted_tokens_seconds", "Mean speed of an answer in tokens/s.",
         cli_per_second((uint32_t)n->n_predicted, n->predicted_ms)},
        {false, "llamacpp:requests_processing", "Answers that have a slot.", seen.n_running},
        {false, "llamacpp:requests_deferred", "Answers that wait for one.", seen.n_waiting},
        {false, "llamacpp:n_busy_slots_per_decode", "Mean number of busy slots at a token.",
         n->n_steps > 0 ? (double)n->n_busy / (double)n->n_steps : 0},
    };
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        const char *name = metrics[i].name;
        const int size = snprintf(line, sizeof(line), "# HELP %s %s\n# TYPE %s %s\n%s %.10g\n",
                                  name, metrics[i].help, name,
                                  metrics[i].is_sum ? "counter" : "gauge", name, metrics[i].value);
        cli_bytes_append(&text, line, (size_t)size);
    }
    serve_reply_text(reply, "text/plain; version=0.0.4", text.data, text.size);
    reply->started = api->started;
    cli_bytes_finish(&text);
}
