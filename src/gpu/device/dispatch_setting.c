#include "gpu/device/dispatch_setting.h"

#include <string.h>

enum {
    MAX_GROUPS = 65535,
    MIN_SIZE = 64,
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

// Kernels halve a group again and again.
static bool take_size(const char **text, uint32_t *size)
{
    return take_number(text, MIN_SIZE, MAX_SIZE, size) && (*size & (*size - 1)) == 0;
}

static bool take_numbers(const char *text, struct gi_dispatch_setting *setting)
{
    struct gi_persistent_params *params = &setting->persistent;
    if (*text && !take_number(&text, 1, MAX_GROUPS, &params->n_groups)) {
        return false;
    }
    if (*text && !take_size(&text, &params->group_size)) {
        return false;
    }
    setting->has_spins = *text != '\0';
    return !setting->has_spins ||
           (take_number(&text, 0, UINT32_MAX, &params->max_spins) && *text == '\0');
}

static const struct row {
    const char *text;
    enum gi_dispatch_mode mode;
    enum gi_persistent_mode persistent_mode;
} rows[] = {
    {"ordinary",   GI_DISPATCH_MODE_AUTO,     GI_PERSISTENT_NEVER     },
    {"direct",     GI_DISPATCH_MODE_DIRECT,   GI_PERSISTENT_NEVER     },
    {"indirect",   GI_DISPATCH_MODE_INDIRECT, GI_PERSISTENT_NEVER     },
    {"persistent", GI_DISPATCH_MODE_AUTO,     GI_PERSISTENT_AT_ONCE   },
    {"background", GI_DISPATCH_MODE_AUTO,     GI_PERSISTENT_BACKGROUND},
};

static bool take_row(const struct row *row, const char *rest, struct gi_dispatch_setting *setting)
{
    setting->is_set = true;
    setting->mode = row->mode;
    setting->persistent_mode = row->persistent_mode;
    return row->persistent_mode == GI_PERSISTENT_NEVER ? *rest == '\0'
                                                       : take_numbers(rest, setting);
}

bool gi_dispatch_setting_parse(const char *text, struct gi_dispatch_setting *setting)
{
    *setting = (struct gi_dispatch_setting){0};
    if (!text || !*text) {
        return true;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t size = strlen(rows[i].text);
        if (strncmp(text, rows[i].text, size) == 0 && take_row(&rows[i], text + size, setting)) {
            return true;
        }
    }
    *setting = (struct gi_dispatch_setting){0};
    return false;
}
