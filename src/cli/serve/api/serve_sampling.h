// The sampling fields of a request, with the names of llama-server, which are OpenAI's for the
// fields of both.
#pragma once

#include "cli/sampling/cli_sampling.h"
#include "cli/serve/api/serve_fields.h"
#include "cli/serve/schedule/serve_task.h"

// Sets the task's sampling to the defaults of the server, then to the fields of the request:
// samplers, biases, stop texts, ignore_eos. Sets *seed to the requested seed or a random one.
void serve_sampling_read(struct serve_fields *fields, const struct cli_sampling *defaults,
                         const struct glinfer_tokenizer *tokenizer, struct serve_task *task,
                         uint64_t *seed);
// Adds the sampling of a task to an object, with the same names.
void serve_sampling_describe(cJSON *object, const struct glinfer_generate_params *params);
