#include "program_variants.h"

#include "gguf/ggml_type.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_SETS 2

// A kernel that asks for a define that is not here ends in its own #error: add it.
static const struct {
    const char *name;
    int32_t values[N_SETS];
} typical[] = {
    {"WG_SIZE",     {64, 64}},
    {"HEAD_DIM",    {64, 32}}, // 128 takes more shared memory than llvmpipe has
    {"KEYS",        {64, 64}},
    {"K_TYPE",      {0, 1}  },
    {"V_TYPE",      {0, 1}  },
    {"PAIRS",       {2, 1}  },
    {"LANE_PAIRS",  {2, 1}  },
    {"BLOCKS",      {1, 2}  },
    {"N_BLOCK",     {0, 4}  },
    {"N_SSQ",       {0, 4}  },
    {"HAS_BIAS",    {0, 1}  },
    {"HAS_GAMMA",   {1, 0}  },
    {"NORM",        {0, 1}  },
    {"WINDOW",      {0, 1}  },
    {"SOFTCAP",     {0, 1}  },
    {"FINE",        {0, 8}  },
    {"ACTIVATION",  {0, 1}  },
    {"SIDE",        {0, 2}  },
    {"BATCH",       {0, 1}  },
    {"HAS_COUNTS",  {0, 1}  },
    {"ADD",         {0, 1}  },
    {"SUMS",        {0, 1}  },
    {"WRITE_SUMS",  {0, 1}  },
    {"TILES",       {12, 8} },
    {"TOKENS",      {8, 4}  },
    {"VECTORS",     {2, 1}  },
    {"HEADS",       {3, 2}  },
    {"TEAMS",       {1, 2}  },
    {"RANGES",      {5, 1}  },
    {"LOADS",       {16, 4} },
    {"TILE_TOKENS", {64, 32}},
    {"SLICES",      {1, 2}  },
    {"HALF",        {1, 0}  },
    {"BY_WORDS",    {1, 0}  },
};
#define N_TYPICAL (sizeof(typical) / sizeof(typical[0]))

// Products in f16, for types that have pairs; with blocks that are asked for ahead, too.
static const struct form {
    const char *name;
    struct gi_define defines[4];
    uint32_t n_defines;
} forms[] = {
    {"half",  {{"HALF", 1}, {"N_BLOCK", 32}, {"UNROLL", 2}, {"LOOP", 1}}, 4},
    {"ahead", {{"HALF", 1}, {"N_BLOCK", 64}, {"AHEAD", 2}},               3},
};

static const struct {
    const char *id, *file, *defines;
    uint32_t capability;
} rows[] = {
#define GI_PROGRAM(id, file, defines, capability) {#id, file, defines, GI_CAPABILITY_##capability},
#define GI_PROGRAM_QUANT(type, file)
#include "glsl/programs.def"
#undef GI_PROGRAM
#undef GI_PROGRAM_QUANT
};

static const struct quant_row {
    uint32_t type;
    const char *name, *file;
} quants[] = {
#define GI_PROGRAM(id, file, defines, capability)
#define GI_PROGRAM_QUANT(type, file) {GI_GGML_TYPE_##type, #type, file},
#include "glsl/programs.def"
#undef GI_PROGRAM
#undef GI_PROGRAM_QUANT
};
#define N_QUANTS (sizeof(quants) / sizeof(quants[0]))

struct visit {
    bool (*each)(void *user, const struct program_variant *variant);
    void *user;
    struct glinfer_error *err;
};

static bool is_word_at(const char *text, const char *found, size_t size)
{
    bool is_start = found == text || (!isalnum((unsigned char)found[-1]) && found[-1] != '_');
    return is_start && !isalnum((unsigned char)found[size]) && found[size] != '_';
}

static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);
    for (const char *found = strstr(text, word); found; found = strstr(found + 1, word)) {
        if (is_word_at(text, found, size)) {
            return true;
        }
    }
    return false;
}

static bool has_define(const char *text, const char *name)
{
    char line[64];
    snprintf(line, sizeof(line), "#define %s", name);
    return has_word(text, line);
}

// The values of a set for those names that text mentions and neither it nor the row fixes.
static void choose_defines(struct gi_program_key *key, const char *text, const char *fixed,
                           uint32_t set)
{
    for (size_t i = 0; i < N_TYPICAL; i++) {
        const char *name = typical[i].name;
        if (has_word(text, name) && !has_define(text, name) && !has_word(fixed, name)) {
            key->defines[key->n_defines++] = (struct gi_define){name, typical[i].values[set]};
        }
    }
}

static void write_name(struct program_variant *variant, const struct quant_row *quant, uint32_t set)
{
    snprintf(variant->name, sizeof(variant->name), "%s%s%s.%u", rows[variant->key.id].id,
             quant ? "." : "", quant ? quant->name : "", set);
}

// Without the define that is wanted in the text, which may be NULL, there is no such program.
static bool visit_variant(const struct visit *visit, const struct program_variant *variant,
                          const char *quant_file, const char *wanted)
{
    struct gi_glsl_source source;
    struct program_variant whole = *variant;
    const struct gi_glsl_params params = {.file = rows[variant->key.id].file,
                                          .dir = getenv("GLINFER_GLSL_DIR"),
                                          .fixed_defines = rows[variant->key.id].defines,
                                          .quant_file = quant_file,
                                          .defines = variant->key.defines,
                                          .n_defines = variant->key.n_defines,
                                          .capability = rows[variant->key.id].capability};
    if (!gi_glsl_source_init(&source, &params, visit->err)) {
        return false;
    }
    whole.source = &source;
    // Without parts DOT changes nothing.
    bool is_alike = strstr(rows[variant->key.id].defines, "DOT=") &&
                    !strstr(source.text, "#define QUANT_PARTS 1");
    bool is_there = !wanted || has_define(source.text, wanted);
    bool goes_on = is_alike || !is_there || visit->each(visit->user, &whole);
    gi_glsl_source_finish(&source);
    return goes_on;
}

// Of one type in every kernel, of all in one: they take long to compile.
static bool has_forms(uint32_t id, const struct quant_row *quant)
{
    const bool is_plain = strcmp(rows[id].file, "gemv_plain.comp") == 0;
    return quant && strstr(rows[id].defines, "GEMV_SPLIT=1") &&
           (is_plain || quant->type == GI_GGML_TYPE_Q4_0);
}

static bool visit_forms(const struct visit *visit, const struct program_variant *plain,
                        const struct quant_row *quant)
{
    bool goes_on = true;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]) && goes_on; i++) {
        struct program_variant variant = *plain;
        struct gi_program_key *key = &variant.key;
        assert(key->n_defines + forms[i].n_defines <= GI_MAX_DEFINES);
        memcpy(&key->defines[key->n_defines], forms[i].defines,
               forms[i].n_defines * sizeof(forms[i].defines[0]));
        key->n_defines += forms[i].n_defines;
        snprintf(variant.name, sizeof(variant.name), "%s.%s.%s", rows[key->id].id, quant->name,
                 forms[i].name);
        goes_on = visit_variant(visit, &variant, quant->file, "QUANT_PAIRS");
    }
    return goes_on;
}

// The first type is built with every set of defines, the others with one.
static bool visit_quant(const struct visit *visit, uint32_t id, const struct quant_row *quant,
                        const char *text)
{
    const uint32_t n_sets = quant && quant != quants ? 1 : N_SETS;
    for (uint32_t set = 0; set < n_sets; set++) {
        struct program_variant variant = {
            .key = {.id = (enum gi_program_id)id, .quant = quant ? quant->type : GI_QUANT_NONE}
        };
        choose_defines(&variant.key, text, rows[id].defines, set);
        write_name(&variant, quant, set);
        if (!visit_variant(visit, &variant, quant ? quant->file : NULL, NULL) ||
            (set == 0 && has_forms(id, quant) && !visit_forms(visit, &variant, quant))) {
            return false;
        }
    }
    return true;
}

// Assembles the row once, without defines, to see what it includes and mentions.
static bool visit_row(const struct visit *visit, uint32_t id)
{
    struct gi_glsl_source source;
    const struct gi_glsl_params params = {
        .file = rows[id].file, .dir = getenv("GLINFER_GLSL_DIR"), .quant_file = quants[0].file};
    if (!gi_glsl_source_init(&source, &params, visit->err)) {
        return false;
    }
    bool has_quant = false, goes_on = true;
    for (uint32_t i = 0; i < source.n_files; i++) {
        has_quant = has_quant || strcmp(source.files[i], quants[0].file) == 0;
    }
    for (uint32_t i = 0; goes_on && i < (has_quant ? N_QUANTS : 1); i++) {
        goes_on = visit_quant(visit, id, has_quant ? &quants[i] : NULL, source.text);
    }
    gi_glsl_source_finish(&source);
    return goes_on;
}

bool program_variants_visit(bool (*each)(void *user, const struct program_variant *variant),
                            void *user, struct glinfer_error *err)
{
    const struct visit visit = {each, user, err};
    for (uint32_t id = 0; id < GI_PROGRAM_COUNT; id++) {
        if (!visit_row(&visit, id)) {
            return false;
        }
    }
    return true;
}
