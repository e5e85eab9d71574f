#include "cli/flags/cli_lora.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Adds the adapter of a word, which may end with a colon and a scale. Keeps the word.
static bool add(struct cli_lora_flags *flags, char *word, bool is_scaled, char *why, size_t size)
{
    char *colon = is_scaled ? strrchr(word, ':') : NULL, *end = NULL;
    float scale = 1;
    if (colon) {
        *colon = '\0';
        scale = strtof(colon + 1, &end);
    }
    if (!*word || (is_scaled && (!colon || end == colon + 1 || *end))) {
        snprintf(why, size, "%s with commas between them",
                 is_scaled ? "file:scale pairs" : "files");
        return false;
    }
    colon = is_scaled || access(word, F_OK) == 0 ? NULL : strrchr(word, ':');
    if (colon && strspn(colon + 1, "-.0123456789") == strlen(colon + 1)) {
        snprintf(why, size, "files without scales; --lora-scaled takes FILE:SCALE");
        return false;
    }
    if (!(fabsf(scale) <= CLI_MAX_LORA_SCALE)) {
        snprintf(why, size, "scales from -%d to %d", CLI_MAX_LORA_SCALE, CLI_MAX_LORA_SCALE);
        return false;
    }
    if (flags->n == CLI_MAX_LORA) {
        snprintf(why, size, "at most %d files in all", CLI_MAX_LORA);
        return false;
    }
    flags->paths[flags->n] = word;
    flags->scales[flags->n++] = scale;
    return true;
}

static bool parse(const char *text, struct cli_lora_flags *flags, bool is_scaled, char *why,
                  size_t size)
{
    for (;;) {
        const size_t n = strcspn(text, ",");
        char *word = cli_copy(text);
        word[n] = '\0';
        if (!add(flags, word, is_scaled, why, size)) {
            free(word);
            return false;
        }
        if (!text[n]) {
            return true;
        }
        text += n + 1;
    }
}

bool cli_parse_lora(const char *text, void *field, char *why, size_t size)
{
    return parse(text, field, false, why, size);
}

bool cli_parse_lora_scaled(const char *text, void *field, char *why, size_t size)
{
    return parse(text, field, true, why, size);
}

bool cli_lora_check(const struct cli_lora_flags *flags)
{
    return !flags->is_merged || flags->n > 0 ||
           cli_fail(CLI_EXIT_USAGE, "--lora-merge needs an adapter: --lora FILE");
}

void cli_lora_fill(const struct cli_lora_flags *flags, struct glinfer_model_params *params)
{
    static struct glinfer_source sources[CLI_MAX_LORA];
    static const struct glinfer_source *pointers[CLI_MAX_LORA];
    static float scales[CLI_MAX_LORA];
    for (uint32_t i = 0; i < flags->n; i++) {
        glinfer_source_init(&sources[i]);
        sources[i].path = flags->paths[i];
        pointers[i] = &sources[i];
        scales[i] = flags->is_off ? 0 : flags->scales[i];
    }
    params->adapters = pointers;
    params->n_adapters = flags->n;
    params->adapter_scales = scales;
    params->merge_adapter = flags->is_merged;
}
