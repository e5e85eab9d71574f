#include "gpu/device/settings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

//-- GLINFER_DISPATCH ------------------------------------------------------------------------------

enum {
    MAX_GROUPS = 65535,
    MIN_SIZE = 64,
    MAX_SIZE = 1024,
};

// Takes `mark` and a number from the front of *text. Returns false if what is there is not a number
// from least to most.
static bool take_number(const char **text, char mark, uint64_t least, uint64_t most,
                        uint32_t *number)
{
    const char *digit = *text + 1;
    uint64_t value = 0;
    if (**text != mark || *digit < '0' || *digit > '9') {
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
    if (*text && !take_number(&text, ':', 1, MAX_GROUPS, &setting->n_groups)) {
        return false;
    }
    // Kernels halve a size again and again.
    if (*text && (!take_number(&text, ':', MIN_SIZE, MAX_SIZE, &setting->group_size) ||
                  (setting->group_size & (setting->group_size - 1)) != 0)) {
        return false;
    }
    setting->has_spins = *text != '\0';
    return !setting->has_spins ||
           (take_number(&text, ':', 0, UINT32_MAX, &setting->max_spins) && *text == '\0');
}

static bool set_dispatch(struct gi_settings *settings, const char *text)
{
    static const struct {
        const char *name;
        enum gi_dispatch_mode mode;
        enum gi_takeover takeover;
    } modes[] = {
        {"multi", GI_DISPATCH_MODE_AUTO, GI_TAKEOVER_NEVER},
        {"direct", GI_DISPATCH_MODE_DIRECT, GI_TAKEOVER_NEVER},
        {"indirect", GI_DISPATCH_MODE_INDIRECT, GI_TAKEOVER_NEVER},
        {"persistent", GI_DISPATCH_MODE_AUTO, GI_TAKEOVER_AT_ONCE},
        {"background", GI_DISPATCH_MODE_AUTO, GI_TAKEOVER_BACKGROUND},
    };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        const size_t size = strlen(modes[i].name);
        if (strncmp(text, modes[i].name, size) == 0) {
            settings->dispatch = (struct gi_dispatch_setting){
                .is_set = true, .mode = modes[i].mode, .takeover = modes[i].takeover};
            return modes[i].takeover == GI_TAKEOVER_NEVER
                       ? text[size] == '\0'
                       : take_numbers(text + size, &settings->dispatch);
        }
    }
    return false;
}

//-- the others ------------------------------------------------------------------------------------

// Takes "es31" or one "name=number" from the front of *text, with a number between what OpenGL ES
// 3.1 promises and 1 GiB.
static bool take_limit(const char **text, struct gi_limit_setting *limits)
{
    const struct {
        const char *name;
        uint32_t least, *value;
    } names[] = {
        {"blocks", 4, &limits->blocks},       {"invocations", 128, &limits->invocations},
        {"shared", 16384, &limits->shared},   {"alignment", 1, &limits->alignment},
        {"uniform", 16384, &limits->uniform},
    };
    const size_t size = strcspn(*text, "=,");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == size && strncmp(*text, names[i].name, size) == 0) {
            *text += size;
            return take_number(text, '=', names[i].least, 1u << 30, names[i].value);
        }
    }
    limits->is_es31 = size == 4 && strncmp(*text, "es31", 4) == 0;
    *text += size;
    return limits->is_es31;
}

static bool set_limits(struct gi_settings *settings, const char *text)
{
    bool is_good = take_limit(&text, &settings->limits);
    while (is_good && *text == ',') {
        text++;
        is_good = take_limit(&text, &settings->limits);
    }
    const uint32_t alignment = settings->limits.alignment;
    return is_good && *text == '\0' && (alignment & (alignment - 1)) == 0;
}

static bool set_quirks(struct gi_settings *settings, const char *text)
{
    const size_t size = sizeof(settings->quirks);
    return snprintf(settings->quirks, size, "%s", text) < (int)size && gi_quirks_parse(text);
}

static bool set_gemm(struct gi_settings *settings, const char *text)
{
    enum gi_gemm_tile tile;
    struct gi_gemv_batch_shape shape;
    snprintf(settings->gemm, sizeof(settings->gemm), "%s", text);
    return strlen(text) < sizeof(settings->gemm) &&
           (gi_gemm_tile_parse(text, false, &tile) || gi_gemm_tile_parse(text, true, &tile) ||
            strcmp(text, "few") == 0 || gi_gemv_batch_shape_parse(text, &shape));
}

static bool set_gemv(struct gi_settings *settings, const char *text)
{
    settings->gemv.is_set = gi_gemv_shape_parse(text, &settings->gemv.shape);
    return settings->gemv.is_set;
}

static bool set_batch(struct gi_settings *settings, const char *text)
{
    settings->batch.is_set = gi_batch_form_parse(text, &settings->batch.form);
    return settings->batch.is_set;
}

static bool set_choice(enum gi_choice *choice, const char *text, const char *yes, const char *no)
{
    *choice = strcmp(text, yes) == 0  ? GI_CHOICE_YES
              : strcmp(text, no) == 0 ? GI_CHOICE_NO
                                      : GI_CHOICE_NONE;
    return *choice != GI_CHOICE_NONE;
}

static bool set_half(struct gi_settings *settings, const char *text)
{
    return set_choice(&settings->half, text, "yes", "no");
}

static bool set_pages(struct gi_settings *settings, const char *text)
{
    return set_choice(&settings->large_pages, text, "large", "small");
}

static bool set_selftest(struct gi_settings *settings, const char *text)
{
    return set_choice(&settings->selftest, text, "on", "off");
}

static bool set_path(char path[GI_SETTING_PATH_SIZE], const char *text)
{
    return snprintf(path, GI_SETTING_PATH_SIZE, "%s", text) < GI_SETTING_PATH_SIZE;
}

static bool set_glsl_dir(struct gi_settings *settings, const char *text)
{
    struct stat status;
    return set_path(settings->glsl_dir, text) && stat(text, &status) == 0 &&
           S_ISDIR(status.st_mode);
}

// Leaves it to the reader of the file whether it can be read.
static bool set_tuning(struct gi_settings *settings, const char *text)
{
    return set_path(settings->tuning, text);
}

//-- GLINFER_FAULT ---------------------------------------------------------------------------------

static bool set_fault(struct gi_settings *settings, const char *text)
{
    static const char *const kinds[] = {
        [GI_FAULT_WRONG] = "wrong", [GI_FAULT_SKIP] = "skip",       [GI_FAULT_SLOW] = "slow",
        [GI_FAULT_LOST] = "lost",   [GI_FAULT_COMPILE] = "compile",
    };
    struct gi_fault_setting *fault = &settings->fault;
    const size_t size = strcspn(text, ":");
    for (uint32_t i = GI_FAULT_WRONG; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strlen(kinds[i]) == size && strncmp(kinds[i], text, size) == 0) {
            fault->kind = (enum gi_fault_kind)i;
        }
    }
    if (fault->kind == GI_FAULT_NONE || text[size] == '\0') {
        return false;
    }
    const char *program = text + size + 1;
    const size_t program_size = strcspn(program, ":");
    const char *rest = program + program_size;
    snprintf(fault->program, sizeof(fault->program), "%.*s", (int)program_size, program);
    return program_size > 0 && program_size < sizeof(fault->program) &&
           (*rest == '\0' ||
            (take_number(&rest, ':', 1, UINT32_MAX, &fault->occurrence) && *rest == '\0'));
}

bool gi_fault_is_of(const struct gi_fault_setting *fault, enum gi_fault_kind kind,
                    const char *program)
{
    const size_t size = strcspn(fault->program, "*");
    return fault->kind == kind &&
           (fault->program[size] == '*' ? strncmp(fault->program, program, size) == 0
                                        : strcmp(fault->program, program) == 0);
}

static bool set_class(struct gi_settings *settings, const char *text)
{
    settings->device_class = gi_device_class_find(text, NULL);
    return settings->device_class != gi_device_class_find("", NULL);
}

//-- all -------------------------------------------------------------------------------------------

#define FIELD(name) offsetof(struct gi_settings, name), sizeof(((struct gi_settings *)0)->name)

static const struct row {
    const char *variable;
    bool (*set)(struct gi_settings *settings, const char *text);
    size_t offset, size; // of the field that it sets
    const char *expected;
} rows[] = {
    {"GLINFER_DISPATCH", set_dispatch, FIELD(dispatch),
     "multi, direct, indirect, or persistent or background with [:GROUPS[:SIZE[:SPINS]]], "
     "GROUPS 1 to 65535, SIZE 64, 128, 256, 512 or 1024"},
    {"GLINFER_LIMITS", set_limits, FIELD(limits),
     "es31, blocks=4.., invocations=128.., shared=16384.., alignment=2^n, uniform=16384.., a comma "
     "between two"},
    {"GLINFER_QUIRKS", set_quirks, FIELD(quirks),
     "RENDERER[@FROM-TO]=FLAG[,FLAG...], a semicolon between two; `man glinfer` has the flags"},
    {"GLINFER_GEMM", set_gemm, FIELD(gemm),
     "64x64, 64x64:2, 64x64:3, 32x64:2, 64x32:4, 128x64, narrow, rolled, thin, short, low, few, "
     "2x8, 4x6 or 4x8"},
    {"GLINFER_GEMV", set_gemv, FIELD(gemv),
     "split, f16, row, texel, halves, bytes, places or texbits"},
    {"GLINFER_HALF", set_half, FIELD(half), "yes or no"},
    {"GLINFER_BATCH", set_batch, FIELD(batch), "split, lane or row"},
    {"GLINFER_PAGES", set_pages, FIELD(large_pages), "large or small"},
    {"GLINFER_GLSL_DIR", set_glsl_dir, FIELD(glsl_dir), "a folder"},
    {"GLINFER_TUNING", set_tuning, FIELD(tuning), "off or a file"},
    {"GLINFER_SELFTEST", set_selftest, FIELD(selftest), "on or off"},
    {"GLINFER_FAULT", set_fault, FIELD(fault),
     "wrong, skip, slow, lost or compile, with :PROGRAM[:N]"},
    {"GLINFER_CLASS", set_class, FIELD(device_class), "a part of GL_RENDERER, as V3D"},
};

static bool set_row(struct gi_settings *settings, const struct row *row, const char *text)
{
    memset((char *)settings + row->offset, 0, row->size);
    if (!text || !*text || row->set(settings, text)) {
        return true;
    }
    memset((char *)settings + row->offset, 0, row->size);
    return false;
}

bool gi_settings_set(struct gi_settings *settings, const char *variable, const char *text)
{
    const struct row *row = rows;
    while (strcmp(row->variable, variable) != 0) {
        row++;
        assert(row < rows + sizeof(rows) / sizeof(rows[0]));
    }
    return set_row(settings, row, text);
}

void gi_settings_read(struct gi_settings *settings, const struct gi_log *log)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = getenv(rows[i].variable);
        if (!set_row(settings, &rows[i], text)) {
            gi_log_write(log, GLINFER_LOG_WARN, "%s=%s is invalid and ignored: expected %s",
                         rows[i].variable, text, rows[i].expected);
        }
    }
}
