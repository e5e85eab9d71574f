#include "cli/serve/schedule/serve_budget.h"

#include "cli/common/cli_io.h"

void serve_budget_begin(struct serve_budget *budget, int kind)
{
    budget->is_on = true;
    cli_reasoning_begin(&budget->reasoning, kind);
}

void serve_budget_finish(struct serve_budget *budget)
{
    cli_reasoning_finish(&budget->reasoning);
}

bool serve_budget_take(struct serve_budget *budget, const struct glinfer_tokenizer *tokenizer,
                       const struct glinfer_token *token)
{
    struct cli_reasoning *reasoning = &budget->reasoning;
    struct cli_piece piece;
    size_t size;
    if (!budget->is_on || token->id < 0) {
        return false;
    }
    budget->first = budget->n_token == 0 ? cli_now() : budget->first;
    budget->n_token++;
    budget->n_thought += reasoning->is_thinking;
    const char *text =
        cli_reasoning_text(reasoning, tokenizer, token->id, token->text, token->text_size, &size);
    cli_reasoning_append(reasoning, text, size);
    while (cli_reasoning_next(reasoning, &piece)) {
    }
    return reasoning->is_thinking && !budget->is_over && budget->n_thought >= budget->most;
}

void serve_budget_end_text(const struct serve_budget *budget, struct cli_bytes *text)
{
    static const char channels[] = "<|end|><|start|>assistant<|channel|>final<|message|>";
    const bool has_channels = budget->reasoning.has_channels;
    cli_bytes_add(text, budget->message ? budget->message : "");
    cli_bytes_add(text, has_channels ? channels : "\n");
    cli_bytes_add(text, has_channels ? "" : budget->reasoning.end);
    cli_bytes_add(text, has_channels ? "" : "\n\n");
}
