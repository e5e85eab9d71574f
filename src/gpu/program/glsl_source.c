#include "gpu/program/glsl_source.h"

#include "base/array.h"
#include "base/cache_file.h"
#include "glsl/embedded.h"
#include "gpu/program/glsl_fault.h"
#include "gpu/program/glsl_shuffle.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH     8
#define MAX_FILE_SIZE (1u << 20)

// A file that is being read; files nest by includes.
struct reader {
    char *text; // owned
    const char *next;
    uint32_t file; // index into files
    uint32_t line; // of next
};

// A source that is being assembled. The first error ends it: nothing is appended after that.
struct assembly {
    struct gi_glsl_source *source;
    const struct gi_glsl_params *params;
    struct reader readers[MAX_DEPTH];
    uint32_t depth;
    size_t text_capacity, run_capacity;
    bool has_failed;
    struct glinfer_error *err;
};

// Fails with DRIVER and the place of an include, or the program's file.
__attribute__((format(printf, 2, 3))) static void refuse(struct assembly *a, const char *format,
                                                         ...)
{
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    if (a->has_failed) {
        return;
    }
    a->has_failed = true;
    if (a->depth > 0) {
        const struct reader *reader = &a->readers[a->depth - 1];
        gi_error_set(a->err, GLINFER_STATUS_DRIVER, "%s:%u: %s", a->source->files[reader->file],
                     reader->line, reason);
    } else {
        gi_error_set(a->err, GLINFER_STATUS_DRIVER, "programs.def: %s", reason);
    }
}

//-- text ------------------------------------------------------------------------------------------

// Starts a run if the next line does not follow on from the last one.
static void mark_line(struct assembly *a, uint32_t file, uint32_t line)
{
    struct gi_glsl_source *source = a->source;
    const struct gi_glsl_run *last = source->n_runs > 0 ? &source->runs[source->n_runs - 1] : NULL;
    uint32_t first = source->n_lines + 1;
    if (last && last->file == file && last->line + (first - last->first) == line) {
        return;
    }
    if (!gi_array_grow(&source->runs, &a->run_capacity, source->n_runs + 1, sizeof(*source->runs),
                       "a program's line map", a->err)) {
        a->has_failed = true;
        return;
    }
    source->runs[source->n_runs++] = (struct gi_glsl_run){first, file, line};
}

static void append_line(struct assembly *a, uint32_t file, uint32_t line, const char *bytes,
                        size_t size)
{
    struct gi_glsl_source *source = a->source;
    mark_line(a, file, line);
    if (a->has_failed || !gi_array_grow(&source->text, &a->text_capacity, source->size + size + 2,
                                        1, "a program's source", a->err)) {
        a->has_failed = true;
        return;
    }
    memcpy(source->text + source->size, bytes, size);
    memcpy(source->text + source->size + size, "\n", 2);
    source->size += size + 1;
    source->n_lines++;
}

//-- head ------------------------------------------------------------------------------------------

static void append_head_line(struct assembly *a, const char *line)
{
    append_line(a, 0, a->source->n_lines + 1, line, strlen(line));
}

static void append_define(struct assembly *a, int name_size, const char *name, int value_size,
                          const char *value)
{
    char line[256];
    const int size =
        snprintf(line, sizeof(line), "#define %.*s %.*s", name_size, name, value_size, value);
    if (size < 0 || (size_t)size >= sizeof(line)) {
        refuse(a, "%s: a define is too long", a->params->file);
    } else {
        append_head_line(a, line);
    }
}

static void append_number(struct assembly *a, const char *name, int32_t value)
{
    char text[16];
    append_define(a, (int)strlen(name), name, snprintf(text, sizeof(text), "%d", value), text);
}

static void append_defines(struct assembly *a)
{
    const char *next = a->params->fixed_defines ? a->params->fixed_defines : "";
    while (*next) {
        const int size = (int)strcspn(next, " "), name_size = (int)strcspn(next, "= ");
        if (size > name_size) {
            append_define(a, name_size, next, size - name_size - 1, next + name_size + 1);
        } else if (size > 0) {
            append_define(a, name_size, next, 1, "1");
        }
        next += size + (next[size] == ' ');
    }
    for (uint32_t i = 0; i < a->params->n_defines; i++) {
        append_number(a, a->params->defines[i].name, a->params->defines[i].value);
    }
}

// Returns the invocations of a group, or the most that a text for groups of its own size has.
static int32_t count_invocations(const struct gi_glsl_params *params)
{
    enum { MOST = 512 };
    for (uint32_t i = 0; i < params->n_defines; i++) {
        if (strcmp(params->defines[i].name, "WG_SIZE") == 0) {
            return params->defines[i].value;
        }
    }
    return MOST;
}

static void append_head(struct assembly *a)
{
    const struct gi_glsl_params *params = a->params;
    const bool wants_subgroups = params->capability & GI_CAPABILITY_SUBGROUPS;
    const bool has_subgroups = wants_subgroups && !params->is_shuffled; // the driver's
    append_head_line(a, has_subgroups ? "#version 320 es" : "#version 310 es");
    if (has_subgroups) {
        append_head_line(a, "#extension GL_KHR_shader_subgroup_basic : require");
        append_head_line(a, "#extension GL_KHR_shader_subgroup_arithmetic : require");
        append_head_line(a, "#extension GL_KHR_shader_subgroup_shuffle : require");
    }
    if (params->capability & GI_CAPABILITY_TEXBUF) {
        append_head_line(a, "#extension GL_EXT_texture_buffer : require");
    }
    append_defines(a);
    if (wants_subgroups && params->is_shuffled) {
        append_number(a, "SHUFFLED", count_invocations(params));
        append_head_line(a, gi_glsl_shuffle_head);
    }
    if (params->is_counted) {
        append_number(a, "COUNT_GROUPS", params->counts_groups);
        append_head_line(a, "#define main kernel_main");
    }
    if (params->is_wrong) {
        append_head_line(a, gi_glsl_fault_head);
    }
}

//-- files -----------------------------------------------------------------------------------------

static const char *find_embedded(const char *name)
{
    for (size_t i = 0; i < gi_glsl_file_count; i++) {
        if (strcmp(gi_glsl_files[i].name, name) == 0) {
            return gi_glsl_files[i].text;
        }
    }
    return NULL;
}

// Returns the text of a file, owned by the caller. NULL with *is_missing set if there is no such
// file, and with an error otherwise.
static char *load_file(const struct gi_glsl_params *params, const char *name, bool *is_missing,
                       struct glinfer_error *err)
{
    const char *found = strcmp(name, params->file) == 0 ? params->text : NULL;
    *is_missing = false;
    if (!found && params->dir) {
        size_t size;
        char *text = gi_cache_read(params->dir, name, MAX_FILE_SIZE, &size);
        const int reason = errno;
        if (!text && reason != ENOENT) {
            gi_error_set(err, GLINFER_STATUS_IO, "%s/%s cannot be read (%s)", params->dir, name,
                         strerror(reason));
        }
        if (text || reason != ENOENT) {
            return text;
        }
    }
    found = found ? found : find_embedded(name);
    *is_missing = !found;
    char *copy = found ? strdup(found) : NULL;
    if (found && !copy) {
        gi_error_no_memory(err, strlen(found), "a kernel's text");
    }
    return copy;
}

static uint32_t find_file(const struct gi_glsl_source *source, const char *name)
{
    uint32_t i = 1;
    while (i < source->n_files && strcmp(source->files[i], name) != 0) {
        i++;
    }
    return i;
}

static void add_name(struct assembly *a, const char *name)
{
    struct gi_glsl_source *source = a->source;
    if (source->n_files == GI_GLSL_MAX_FILES) {
        refuse(a, "%s includes more than %d files", a->params->file, GI_GLSL_MAX_FILES - 1);
        return;
    }
    source->files[source->n_files] = strdup(name);
    a->has_failed = !source->files[source->n_files];
    if (a->has_failed) {
        gi_error_no_memory(a->err, strlen(name) + 1, "a file's name");
    } else {
        source->n_files++;
    }
}

// Begins to read a file.
static void open_reader(struct assembly *a, const char *name)
{
    bool is_missing;
    if (a->depth == MAX_DEPTH) {
        refuse(a, "includes are nested more than %d deep", MAX_DEPTH);
        return;
    }
    const uint32_t file = a->source->n_files;
    char *text = load_file(a->params, name, &is_missing, a->err);
    if (!text && is_missing) {
        refuse(a, "there is no shader file %s%s%s", name, a->params->dir ? " in " : "",
               a->params->dir ? a->params->dir : "");
    } else if (text) {
        add_name(a, name);
    }
    if (!text || a->has_failed) {
        a->has_failed = true;
        free(text);
        return;
    }
    a->readers[a->depth++] = (struct reader){.text = text, .next = text, .file = file, .line = 1};
}

static void close_reader(struct assembly *a)
{
    free(a->readers[--a->depth].text);
}

//-- lines -----------------------------------------------------------------------------------------

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

// Returns the text after "#word" on a line, NULL if the line is not this directive.
static const char *match_directive(const char *line, const char *word)
{
    line = skip_blanks(line);
    if (*line != '#') {
        return NULL;
    }
    line = skip_blanks(line + 1);
    size_t size = strlen(word);
    if (strncmp(line, word, size) != 0 || isalnum((unsigned char)line[size])) {
        return NULL;
    }
    return skip_blanks(line + size);
}

// Copies the file named after #include into name.
static void parse_include(struct assembly *a, const char *text, char *name, size_t size)
{
    static const char quant_word[] = "QUANT_FILE";
    const size_t length = *text == '"' ? strcspn(text + 1, "\"\n") : 0;
    if (strncmp(text, quant_word, sizeof(quant_word) - 1) == 0) {
        if (!a->params->quant_file) {
            refuse(a, "QUANT_FILE is included but no weight type was given");
            return;
        }
        snprintf(name, size, "%s", a->params->quant_file);
    } else if (length == 0 || length >= size || text[1 + length] != '"') {
        refuse(a, "#include needs a \"file\" or QUANT_FILE");
    } else {
        snprintf(name, size, "%.*s", (int)length, text + 1);
    }
}

static bool is_open(const struct assembly *a, uint32_t file)
{
    for (uint32_t i = 0; i < a->depth; i++) {
        if (a->readers[i].file == file) {
            return true;
        }
    }
    return false;
}

// Opens the file of an #include unless it was put in before.
static void take_include(struct assembly *a, const char *text)
{
    char name[128];
    parse_include(a, text, name, sizeof(name));
    if (a->has_failed) {
        return;
    }
    const uint32_t file = find_file(a->source, name);
    if (file == a->source->n_files) {
        open_reader(a, name);
    } else if (is_open(a, file)) {
        refuse(a, "%s includes itself", name);
    }
}

static void take_line(struct assembly *a)
{
    struct reader *reader = &a->readers[a->depth - 1];
    const char *line = reader->next;
    const size_t size = strcspn(line, "\n");
    const char *include = match_directive(line, "include");
    reader->next += size + (line[size] == '\n');
    if (match_directive(line, "version")) {
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): append_file closes every reader
        refuse(a, "a kernel carries no #version, the assembler writes it");
    } else if (include) {
        take_include(a, include);
    } else {
        append_line(a, reader->file, reader->line, line, size);
    }
    reader->line++;
}

// Appends a file with all that it includes.
static void append_file(struct assembly *a, const char *name)
{
    if (!a->has_failed) {
        open_reader(a, name);
    }
    while (a->depth > 0) {
        if (a->has_failed || !*a->readers[a->depth - 1].next) {
            close_reader(a);
        } else {
            take_line(a);
        }
    }
}

bool gi_glsl_source_init(struct gi_glsl_source *source, const struct gi_glsl_params *params,
                         struct glinfer_error *err)
{
    struct assembly a = {.source = source, .params = params, .err = err};
    *source = (struct gi_glsl_source){0};
    add_name(&a, "defines");
    append_head(&a);
    append_file(&a, params->file);
    if (params->is_counted) {
        append_file(&a, "lib/run_count.glsl");
    }
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the readers are closed
    if (a.has_failed || (params->is_wrong && !gi_glsl_fault_stores(source, err))) {
        gi_glsl_source_finish(source);
        return false;
    }
    return true;
}

void gi_glsl_source_finish(struct gi_glsl_source *source)
{
    for (uint32_t i = 0; i < source->n_files; i++) {
        free(source->files[i]);
    }
    free(source->runs);
    free(source->text);
    *source = (struct gi_glsl_source){0};
}
