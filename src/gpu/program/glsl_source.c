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

struct assembly {
    struct gi_glsl_source *source;
    const struct gi_glsl_params *params;
    struct reader readers[MAX_DEPTH];
    uint32_t depth;
    size_t text_capacity, run_capacity;
    struct glinfer_error *err;
};

//-- text ------------------------------------------------------------------------------------------

static bool append_bytes(struct assembly *a, const char *bytes, size_t size)
{
    struct gi_glsl_source *source = a->source;
    if (!gi_array_grow(&source->text, &a->text_capacity, source->size + size + 1, 1,
                       "a program's source", a->err)) {
        return false;
    }
    memcpy(source->text + source->size, bytes, size);
    source->size += size;
    source->text[source->size] = 0;
    return true;
}

// Starts a run if the next line does not follow on from the last one.
static bool mark_line(struct assembly *a, uint32_t file, uint32_t line)
{
    struct gi_glsl_source *source = a->source;
    uint32_t first = source->n_lines + 1;
    if (source->n_runs > 0) {
        const struct gi_glsl_run *last = &source->runs[source->n_runs - 1];
        if (last->file == file && last->line + (first - last->first) == line) {
            return true;
        }
    }
    if (!gi_array_grow(&source->runs, &a->run_capacity, source->n_runs + 1, sizeof(*source->runs),
                       "a program's line map", a->err)) {
        return false;
    }
    source->runs[source->n_runs++] = (struct gi_glsl_run){first, file, line};
    return true;
}

static bool append_line(struct assembly *a, uint32_t file, uint32_t line, const char *bytes,
                        size_t size)
{
    if (!mark_line(a, file, line) || !append_bytes(a, bytes, size) || !append_bytes(a, "\n", 1)) {
        return false;
    }
    a->source->n_lines++;
    return true;
}

__attribute__((format(printf, 2, 3))) static bool append_format(struct assembly *a,
                                                                const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (size < 0 || (size_t)size >= sizeof(line)) {
        return gi_error_set(a->err, GLINFER_STATUS_DRIVER, "%s: a define is too long",
                            a->params->file);
    }
    return append_line(a, 0, a->source->n_lines + 1, line, (size_t)size);
}

//-- head ------------------------------------------------------------------------------------------

// True if the program takes the driver's subgroups.
static bool has_subgroups(const struct assembly *a)
{
    return (a->params->capability & GI_CAPABILITY_SUBGROUPS) && !a->params->is_shuffled;
}

static bool append_extensions(struct assembly *a)
{
    const uint32_t capability = a->params->capability;
    if (has_subgroups(a) &&
        !(append_format(a, "#extension GL_KHR_shader_subgroup_basic : require") &&
          append_format(a, "#extension GL_KHR_shader_subgroup_arithmetic : require") &&
          append_format(a, "#extension GL_KHR_shader_subgroup_shuffle : require"))) {
        return false;
    }
    return !(capability & GI_CAPABILITY_TEXBUF) ||
           append_format(a, "#extension GL_EXT_texture_buffer : require");
}

static bool append_defines(struct assembly *a)
{
    const char *next = a->params->fixed_defines ? a->params->fixed_defines : "";
    while (*next) {
        size_t size = strcspn(next, " ");
        const char *equals = memchr(next, '=', size);
        int name_size = (int)(equals ? equals - next : (ptrdiff_t)size);
        int value_size = equals ? (int)size - name_size - 1 : 1;
        if (size > 0 && !append_format(a, "#define %.*s %.*s", name_size, next, value_size,
                                       equals ? equals + 1 : "1")) {
            return false;
        }
        next += size + (next[size] == ' ');
    }
    for (uint32_t i = 0; i < a->params->n_defines; i++) {
        const struct gi_define *define = &a->params->defines[i];
        if (!append_format(a, "#define %s %d", define->name, define->value)) {
            return false;
        }
    }
    return true;
}

static bool append_head_line(struct assembly *a, const char *line)
{
    return append_line(a, 0, a->source->n_lines + 1, line, strlen(line));
}

static bool append_head(struct assembly *a)
{
    const bool is_shuffled =
        (a->params->capability & GI_CAPABILITY_SUBGROUPS) && a->params->is_shuffled;
    return append_format(a, "#version %s es", has_subgroups(a) ? "320" : "310") &&
           append_extensions(a) && append_defines(a) &&
           (!is_shuffled || append_head_line(a, gi_glsl_shuffle_head)) &&
           (!a->params->is_counted ||
            (append_format(a, "#define COUNT_GROUPS %d", (int)a->params->counts_groups) &&
             append_format(a, "#define main kernel_main"))) &&
           (!a->params->is_wrong || append_head_line(a, gi_glsl_fault_head));
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

static bool add_name(struct assembly *a, const char *name)
{
    struct gi_glsl_source *source = a->source;
    if (source->n_files == GI_GLSL_MAX_FILES) {
        return gi_error_set(a->err, GLINFER_STATUS_DRIVER, "%s includes more than %d files",
                            a->params->file, GI_GLSL_MAX_FILES - 1);
    }
    source->files[source->n_files] = strdup(name);
    if (!source->files[source->n_files]) {
        return gi_error_no_memory(a->err, strlen(name) + 1, "a file's name");
    }
    source->n_files++;
    return true;
}

// Writes where an include stands, for messages.
static void describe_place(const struct assembly *a, char *place, size_t size)
{
    if (a->depth == 0) {
        snprintf(place, size, "programs.def");
        return;
    }
    const struct reader *reader = &a->readers[a->depth - 1];
    snprintf(place, size, "%s:%u", a->source->files[reader->file], reader->line);
}

// Begins to read a file.
static bool open_reader(struct assembly *a, const char *name)
{
    char place[160];
    bool is_missing;
    describe_place(a, place, sizeof(place));
    if (a->depth == MAX_DEPTH) {
        return gi_error_set(a->err, GLINFER_STATUS_DRIVER,
                            "%s: includes are nested more than %d deep", place, MAX_DEPTH);
    }
    uint32_t file = a->source->n_files;
    char *text = load_file(a->params, name, &is_missing, a->err);
    if (!text) {
        return is_missing ? gi_error_set(a->err, GLINFER_STATUS_DRIVER,
                                         "%s: there is no shader file %s%s%s", place, name,
                                         a->params->dir ? " in " : "",
                                         a->params->dir ? a->params->dir : "")
                          : false;
    }
    if (!add_name(a, name)) {
        free(text);
        return false;
    }
    a->readers[a->depth++] = (struct reader){.text = text, .next = text, .file = file, .line = 1};
    return true;
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
static bool parse_include(const struct assembly *a, const char *text, char *name, size_t size)
{
    char place[160];
    static const char quant_word[] = "QUANT_FILE";
    describe_place(a, place, sizeof(place));
    if (strncmp(text, quant_word, sizeof(quant_word) - 1) == 0) {
        if (!a->params->quant_file) {
            return gi_error_set(a->err, GLINFER_STATUS_DRIVER,
                                "%s: QUANT_FILE is included but no weight type was given", place);
        }
        snprintf(name, size, "%s", a->params->quant_file);
        return true;
    }
    size_t length = *text == '"' ? strcspn(text + 1, "\"\n") : 0;
    if (length == 0 || length >= size || text[1 + length] != '"') {
        return gi_error_set(a->err, GLINFER_STATUS_DRIVER,
                            "%s: #include needs a \"file\" or QUANT_FILE", place);
    }
    memcpy(name, text + 1, length);
    name[length] = 0;
    return true;
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
static bool take_include(struct assembly *a, const char *text)
{
    char name[128], place[160];
    if (!parse_include(a, text, name, sizeof(name))) {
        return false;
    }
    uint32_t file = find_file(a->source, name);
    if (file == a->source->n_files) {
        return open_reader(a, name);
    }
    describe_place(a, place, sizeof(place));
    return !is_open(a, file) ||
           gi_error_set(a->err, GLINFER_STATUS_DRIVER, "%s: %s includes itself", place, name);
}

static bool take_line(struct assembly *a)
{
    struct reader *reader = &a->readers[a->depth - 1];
    const char *line = reader->next;
    size_t size = strcspn(line, "\n");
    const char *include = match_directive(line, "include");
    reader->next += size + (line[size] == '\n');
    if (match_directive(line, "version")) {
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): gi_glsl_source_init closes every reader
        return gi_error_set(a->err, GLINFER_STATUS_DRIVER,
                            "%s:%u: a kernel carries no #version, the assembler writes it",
                            a->source->files[reader->file], reader->line);
    }
    bool is_consumed =
        include ? take_include(a, include) : append_line(a, reader->file, reader->line, line, size);
    reader->line++;
    return is_consumed;
}

// Appends a file with all that it includes.
static bool append_file(struct assembly *a, const char *name)
{
    if (!open_reader(a, name)) {
        return false;
    }
    while (a->depth > 0) {
        if (!*a->readers[a->depth - 1].next) {
            close_reader(a);
        } else if (!take_line(a)) {
            return false;
        }
    }
    return true;
}

static bool assemble(struct assembly *a)
{
    return add_name(a, "defines") && append_head(a) && append_file(a, a->params->file) &&
           (!a->params->is_counted || append_file(a, "lib/run_count.glsl"));
}

bool gi_glsl_source_init(struct gi_glsl_source *source, const struct gi_glsl_params *params,
                         struct glinfer_error *err)
{
    struct assembly a = {.source = source, .params = params, .err = err};
    *source = (struct gi_glsl_source){0};
    bool is_done = assemble(&a);
    while (a.depth > 0) {
        close_reader(&a);
    }
    is_done = is_done && (!params->is_wrong || gi_glsl_fault_stores(source, err));
    if (!is_done) { // NOLINT(clang-analyzer-unix.Malloc): the readers were closed above
        gi_glsl_source_finish(source);
    }
    return is_done;
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
