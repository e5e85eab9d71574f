#include "gpu/program/program_table.h"

#include "base/array.h"
#include "gguf/ggml_type.h"
#include "gpu/device/gpu_private.h"
#include "gpu/program/glsl_source.h"
#include "gpu/program/program_private.h"
#include "gpu/program/quarantine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- rows ------------------------------------------------------------------------------------------

struct program_row {
    const char *name, *file, *defines;
    uint32_t capability; // GI_CAPABILITY_ bits, without those that the defines imply
};

static const struct program_row rows[] = {
#define GI_PROGRAM(id, file, defines, capability) {#id, file, defines, GI_CAPABILITY_##capability},
#include "glsl/programs.def"
};

uint32_t gi_program_capability(enum gi_program_id id)
{
    static const struct {
        const char *define;
        uint32_t capability;
    } implied[] = {
        {"SUBGROUP=", GI_CAPABILITY_SUBGROUPS},   {"TEXELS=1", GI_CAPABILITY_TEXBUF},
        {"WG_SIZE=128", GI_CAPABILITY_REGISTERS}, {"WG_SIZE=256", GI_CAPABILITY_WG256},
        {"WG_SIZE=512", GI_CAPABILITY_WG512},     {"WG_SIZE=1024", GI_CAPABILITY_WG1024},
    };
    uint32_t capability = rows[id].capability;
    for (size_t i = 0; i < sizeof(implied) / sizeof(implied[0]); i++) {
        capability |= strstr(rows[id].defines, implied[i].define) ? implied[i].capability : 0;
    }
    return capability;
}

static const struct quant_row {
    uint32_t type;
    const char *name, *file;
} quant_rows[] = {
#define QUANT_ROW(name, text, folder, ...)                                                         \
    {GI_GGML_TYPE_##name, #text, "quant/" #folder "/" #text ".glsl"},
    GI_WEIGHT_TYPE_MAP(QUANT_ROW)
#undef QUANT_ROW
};

static const struct quant_row *find_quant(uint32_t type)
{
    for (size_t i = 0; i < sizeof(quant_rows) / sizeof(quant_rows[0]); i++) {
        if (quant_rows[i].type == type) {
            return &quant_rows[i];
        }
    }
    return NULL;
}

static bool has_capability(const struct gi_gpu *gpu, uint32_t capability)
{
    const struct gi_limits *limits = &gpu->limits;
    uint32_t width = (capability & GI_CAPABILITY_WG1024)                              ? 1024
                     : (capability & GI_CAPABILITY_WG512)                             ? 512
                     : (capability & (GI_CAPABILITY_WG256 | GI_CAPABILITY_SUBGROUPS)) ? 256
                                                                                      : 128;
    uint32_t shared =
        (capability & GI_CAPABILITY_WG256_32K) == GI_CAPABILITY_WG256_32K ? 32 << 10 : 0;
    return limits->max_invocations >= width && limits->max_group_size[0] >= width &&
           limits->max_shared_size >= shared &&
           (limits->subgroup_size == 32 || !(capability & GI_CAPABILITY_SUBGROUPS)) &&
           (limits->max_storage_blocks >= 5 || !(capability & GI_CAPABILITY_FIVE_BLOCKS)) &&
           (limits->has_texture_buffer || !(capability & GI_CAPABILITY_TEXBUF)) &&
           (limits->has_fast_half || !(capability & GI_CAPABILITY_HALF)) &&
           (!gpu->class->is_short_of_registers || !(capability & GI_CAPABILITY_REGISTERS)) &&
           (gpu->class->is_llvmpipe || !(capability & GI_CAPABILITY_LLVMPIPE));
}

bool gi_program_is_possible(const struct gi_gpu *gpu, enum gi_program_id id)
{
    return has_capability(gpu, gi_program_capability(id));
}

//-- table -----------------------------------------------------------------------------------------

// Programs of their own text are named by their files, which end in .comp.
static void warn_of_unknown_fault(const struct gi_gpu *gpu)
{
    const struct gi_fault_setting *fault = &gpu->settings->fault;
    bool is_known = fault->kind == GI_FAULT_NONE || strchr(fault->program, '.');
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        is_known = is_known || gi_fault_is_of(fault, fault->kind, rows[i].name);
    }
    if (!is_known) {
        gi_log_write(&gpu->log, GLINFER_LOG_WARN, "GLINFER_FAULT: there is no program '%s'",
                     fault->program);
    }
}

struct gi_program_table *gi_program_table_create(struct gi_gpu *gpu, struct glinfer_error *err)
{
    struct gi_program_table *table =
        gi_array_zeroed(1, sizeof(*table), "the table of programs", err);
    if (!table) {
        return NULL;
    }
    table->gpu = gpu;
    table->n_owners = 1;
    gi_program_cache_init(&table->cache, gpu, gpu->cache_dir);
    warn_of_unknown_fault(gpu);
    return table;
}

void gi_program_table_destroy(struct gi_program_table *table)
{
    if (!table || --table->n_owners > 0) {
        return;
    }
    gi_program_drop_unbuilt(table);
    for (uint32_t i = 0; i < table->n_programs; i++) {
        glDeleteProgram(table->programs[i].name);
        free(table->programs[i].refusal);
        free(table->programs[i].text);
    }
    gi_program_cache_finish(&table->cache);
    free(table->programs);
    free(table);
}

struct gi_program_table *gi_program_table_share(struct gi_program_table *table)
{
    table->n_owners++;
    return table;
}

static bool is_same_key(const struct gi_program_key *a, const struct gi_program_key *b)
{
    if (a->id != b->id || a->quant != b->quant || a->n_defines != b->n_defines) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_defines; i++) {
        if (a->defines[i].value != b->defines[i].value ||
            strcmp(a->defines[i].name, b->defines[i].name) != 0) {
            return false;
        }
    }
    return true;
}

static void write_label(struct gi_program *program)
{
    const struct quant_row *quant = find_quant(program->key.quant);
    char *label = program->label;
    size_t size = sizeof(program->label);
    const char *slash = strrchr(program->file, '/');
    size_t used = (size_t)snprintf(label, size, "%s", slash ? slash + 1 : program->file);
    if (quant && used < size) {
        used += (size_t)snprintf(label + used, size - used, " %s", quant->name);
    }
    if (used < size && *program->fixed_defines) {
        used += (size_t)snprintf(label + used, size - used, " %s", program->fixed_defines);
    }
    for (uint32_t i = 0; i < program->key.n_defines && used < size; i++) {
        const struct gi_define *define = &program->key.defines[i];
        used += (size_t)snprintf(label + used, size - used, " %s=%d", define->name, define->value);
    }
}

// Returns a new program at the end of the table, otherwise zero; NULL if there is no memory.
static struct gi_program *append_program(struct gi_program_table *table, struct glinfer_error *err)
{
    if (!gi_array_grow(&table->programs, &table->capacity, table->n_programs + 1,
                       sizeof(*table->programs), "the table of programs", err)) {
        return NULL;
    }
    struct gi_program *program = &table->programs[table->n_programs++];
    const char *dir = table->gpu->settings->glsl_dir;
    *program = (struct gi_program){.dir = *dir ? dir : NULL};
    return program;
}

static bool check_key(const struct gi_program_table *table, const struct gi_program_key *key,
                      struct glinfer_error *err)
{
    const struct program_row *row = &rows[key->id];
    const char *reason = gi_quarantine_find(table->gpu, key->id, key->quant);
    assert(key->id < GI_PROGRAM_COUNT && key->n_defines <= GI_MAX_DEFINES);
    if (reason) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s cannot be used: %s; there is no other kernel for it",
                            gi_gpu_platform(table->gpu)->renderer, reason);
    }
    if (!gi_program_is_possible(table->gpu, key->id)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s lacks what %s %s needs (wider work groups, subgroups, texture "
                            "buffers or fast halves)",
                            gi_gpu_platform(table->gpu)->renderer, row->file, row->defines);
    }
    if (key->quant != GI_QUANT_NONE && !find_quant(key->quant)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s has no unpacker for weights of type %u", row->file, key->quant);
    }
    return true;
}

bool gi_program_table_request(struct gi_program_table *table, const struct gi_program_key *key,
                              uint32_t *index, struct glinfer_error *err)
{
    if (!check_key(table, key, err)) {
        return false;
    }
    for (uint32_t i = 0; i < table->n_programs; i++) {
        if (!table->programs[i].text && is_same_key(&table->programs[i].key, key)) {
            *index = i;
            return true;
        }
    }
    struct gi_program *program = append_program(table, err);
    if (!program) {
        return false;
    }
    const struct quant_row *quant = find_quant(key->quant);
    program->key = *key;
    program->file = rows[key->id].file;
    program->fixed_defines = rows[key->id].defines;
    program->capability = gi_program_capability(key->id);
    program->quant_file = quant ? quant->file : NULL;
    write_label(program);
    *index = table->n_programs - 1;
    return true;
}

bool gi_program_table_request_text(struct gi_program_table *table, const char *name,
                                   const char *text, uint32_t capability, uint32_t *index,
                                   struct glinfer_error *err)
{
    if (!gi_program_table_request_source(table, name, text, NULL, 0, index, err)) {
        return false;
    }
    table->programs[*index].capability = capability;
    return true;
}

bool gi_program_table_request_source(struct gi_program_table *table, const char *name,
                                     const char *text, const struct gi_define *defines,
                                     uint32_t n_defines, uint32_t *index, struct glinfer_error *err)
{
    assert(n_defines <= GI_MAX_DEFINES);
    char *copy = strdup(text);
    struct gi_program *program = copy ? append_program(table, err) : NULL;
    if (!program) {
        free(copy);
        return copy ? false : gi_error_no_memory(err, strlen(text), "a kernel's text");
    }
    program->text = copy;
    program->file = name;
    program->fixed_defines = "";
    program->key = (struct gi_program_key){.quant = GI_QUANT_NONE, .n_defines = n_defines};
    for (uint32_t i = 0; i < n_defines; i++) {
        program->key.defines[i] = defines[i];
    }
    write_label(program);
    *index = table->n_programs - 1;
    return true;
}

void gi_program_table_forget(struct gi_program_table *table)
{
    gi_program_drop_unbuilt(table);
    while (table->n_built > 0 && table->programs[table->n_built - 1].name == 0) { // refused
        table->n_built--;
    }
    for (uint32_t i = table->n_built; i < table->n_programs; i++) {
        free(table->programs[i].refusal);
        free(table->programs[i].text);
    }
    table->n_programs = table->n_built;
}

//-- built -----------------------------------------------------------------------------------------

void gi_program_table_describe(const struct gi_program_table *table, struct gi_program_stats *stats)
{
    *stats = table->stats;
    stats->n_programs = table->n_programs;
}

uint32_t gi_program_name(const struct gi_program_table *table, uint32_t index)
{
    assert(index < table->n_built);
    return table->programs[index].name;
}

const char *gi_program_refusal(const struct gi_program_table *table, uint32_t index)
{
    assert(gi_program_name(table, index) == 0);
    const struct gi_program *program = &table->programs[index];
    return program->refusal ? program->refusal : program->label;
}

const char *gi_program_label(const struct gi_program_table *table, uint32_t index)
{
    assert(index < table->n_programs);
    return table->programs[index].label;
}

bool gi_program_is_counted(const struct gi_program_table *table, uint32_t index)
{
    assert(index < table->n_programs);
    return table->gpu->counts_runs && !table->programs[index].text;
}

const struct gi_program_key *gi_program_key(const struct gi_program_table *table, uint32_t index)
{
    assert(index < table->n_programs);
    return &table->programs[index].key;
}

enum gi_finding gi_program_finding(struct gi_program_table *table, uint32_t index, char text[200])
{
    assert(index < table->n_built);
    struct gi_program *program = &table->programs[index];
    if (program->finding == GI_FINDING_NONE && !table->is_doubted) {
        program->finding =
            gi_program_cache_recall(&table->cache, &program->cache_key, program->finding_text);
    }
    snprintf(text, 200, "%s", program->finding_text);
    return program->finding;
}

void gi_program_table_doubt(struct gi_program_table *table, bool is_doubted)
{
    table->is_doubted = is_doubted;
    for (uint32_t i = 0; is_doubted && i < table->n_programs; i++) {
        table->programs[i].finding = GI_FINDING_NONE;
    }
}

void gi_program_set_finding(struct gi_program_table *table, uint32_t index, enum gi_finding finding,
                            const char *text)
{
    assert(index < table->n_built);
    struct gi_program *program = &table->programs[index];
    program->finding = finding;
    snprintf(program->finding_text, sizeof(program->finding_text), "%s", text);
    gi_program_cache_judge(&table->cache, &program->cache_key, finding, text);
}

static void key_of_halves(const struct gi_program_table *table, struct gi_hash *key)
{
    char name[64];
    snprintf(name, sizeof(name), "products in f16 of glinfer %s", glinfer_version());
    gi_program_cache_key(&table->cache, name, strlen(name), key);
}

void gi_program_set_half_refusal(struct gi_program_table *table, const char *reason)
{
    struct gi_hash key;
    key_of_halves(table, &key);
    snprintf(table->half_refusal, sizeof(table->half_refusal), "%s", reason ? reason : "");
    gi_program_cache_judge(&table->cache, &key, reason ? GI_FINDING_WRONG : GI_FINDING_RIGHT,
                           table->half_refusal);
}

const char *gi_program_half_refusal(struct gi_program_table *table)
{
    struct gi_hash key;
    char text[200];
    key_of_halves(table, &key);
    if (!*table->half_refusal &&
        gi_program_cache_recall(&table->cache, &key, text) == GI_FINDING_WRONG) {
        snprintf(table->half_refusal, sizeof(table->half_refusal), "%s", text);
    }
    return table->half_refusal;
}

bool gi_program_has_fault(const struct gi_program_table *table, uint32_t index,
                          enum gi_fault_kind kind)
{
    assert(index < table->n_programs);
    const struct gi_program *program = &table->programs[index];
    return gi_fault_is_of(&table->gpu->settings->fault, kind,
                          program->text ? program->file : rows[program->key.id].name);
}

const char *gi_program_text(const struct gi_program_table *table, uint32_t index,
                            uint32_t *capability)
{
    assert(index < table->n_programs && table->programs[index].text);
    *capability = table->programs[index].capability;
    return table->programs[index].text;
}
