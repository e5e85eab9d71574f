// The fields of a request that say how tokens are chosen, with llama-server's names, and OpenAI's
// where they are the same.
#ifndef SERVE_SAMPLING_H
#define SERVE_SAMPLING_H

#include "cli/sampling/cli_sampling.h"
#include "cli/serve/api/serve_fields.h"
#include "cli/serve/schedule/serve_task.h"

// Sets the task's samplers to the server's own and then to what the request says: samplers, biases,
// stop texts, ignore_eos. Returns the seed in *seed, a random one unless it is asked for.
void serve_sampling_read(struct serve_fields *fields, const struct cli_sampling *defaults,
                         const struct glinfer_tokenizer *tokenizer, struct serve_task *task,
                         uint64_t *seed);
// Adds what holds for a task to an object, by the same names.
void serve_sampling_describe(cJSON *object, const struct glinfer_generate_params *params);

#endif
