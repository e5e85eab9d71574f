#include "gpu/dispatch_setting.h"

#include <string.h>

enum {
    MAX_GROUPS = 65535,
    MAX_SIZE = 1024,
};

// Takes ":number" from the front of *text; false if what is there is not a number from least to most.
static bool take_number(const char **text, uint64_t least, uint64_t most, uint32_t *number)
{
    const char *digit = *text + 1;
    uint64_t value = 0;
    if (**text != ':' || *digit < '0' || *digit > '9') {
        return false;
    }
    for (; *digit >= '0' && *digit <= '9' && value <= most; digit++) {
        value = value * 10 + (uint64_t)(*digit - '0');
    }
    *number = (uint32_t)value;
    *text = digit;
    return value >= least && value <= most;
}

static bool take_numbers(const char *text, struct gi_dispatch_setting *setting)
{
    struct gi_persistent_params *params = &setting->persistent;
    if (*text && !take_number(&text, 1, MAX_GROUPS, &params->n_groups)) {
        return false;
    }
    if (*text && !take_number(&text, 1, MAX_SIZE, &params->group_size)) {
        return false;
    }
    setting->has_spins = *text != '\0';
    return !setting->has_spins ||
           (take_number(&text, 0, UINT32_MAX, &params->max_spins) && *text == '\0');
}

bool gi_dispatch_setting_parse(const char *text, struct gi_dispatch_setting *setting)
{
    static const char persistent[] = "persistent";
    const size_t size = sizeof(persistent) - 1;
    *setting = (struct gi_dispatch_setting){0};
    if (!text || !*text) {
        return true;
    }
    if (strcmp(text, "direct") == 0) {
        setting->mode = GI_DISPATCH_MODE_DIRECT;
        return true;
    }
    if (strcmp(text, "indirect") == 0) {
        setting->mode = GI_DISPATCH_MODE_INDIRECT;
        return true;
    }
    setting->is_persistent = strncmp(text, persistent, size) == 0;
    if (!setting->is_persistent || !take_numbers(text + size, setting)) {
        *setting = (struct gi_dispatch_setting){0};
        return false;
    }
    return true;
}
