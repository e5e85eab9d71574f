#include "base/memory_room.h"
#include "gpu/device/gpu_private.h"
#include "gpu/program/glsl_log.h"
#include "gpu/program/program_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

// Programs are built a window at a time: all that are left where the driver compiles in threads of
// its own, else one; one in a debug context, too, so that the driver's messages follow the
// program's name. Within a window everything is issued before anything is asked for.
struct build {
    struct gi_program_table *table;
    uint32_t first, end; // programs of this build
    bool takes_all;      // continues after a program that fails
    glinfer_progress_fn progress;
    void *user;
    struct glinfer_error *err;
};

// False with CANCELLED if that is asked for, one way or the other (gi_gpu_watch).
static bool report(const struct build *build, uint32_t done)
{
    if (gi_gpu_is_cancelled(build->table->gpu, build->err)) {
        return false;
    }
    return !build->progress ||
           build->progress(build->user, GLINFER_PHASE_COMPILE, done, build->end - build->first) ||
           gi_error_set(build->err, GLINFER_STATUS_CANCELLED, "compiling programs was cancelled");
}

//-- one program -----------------------------------------------------------------------------------

void gi_program_describe_source(const struct gi_program *program, struct gi_glsl_params *params)
{
    *params = (struct gi_glsl_params){
        .file = program->file,
        .text = program->text,
        .dir = program->dir,
        .fixed_defines = program->fixed_defines,
        .quant_file = program->quant_file,
        .defines = program->key.defines,
        .n_defines = program->key.n_defines,
        .capability = program->capability,
    };
}

static bool has_fault(const struct gi_program_table *table, const struct gi_program *program,
                      enum gi_fault_kind kind)
{
    return gi_program_has_fault(table, (uint32_t)(program - table->programs), kind);
}

// Takes the program from the cache if it is there.
static bool load_program(struct gi_program_table *table, struct gi_program *program,
                         struct glinfer_error *err)
{
    if (program->name != 0) {
        return true; // taken or begun before
    }
    if (!program->source.text) {
        struct gi_glsl_params params;
        gi_program_describe_source(program, &params);
        params.is_counted = gi_program_is_counted(table, (uint32_t)(program - table->programs));
        params.counts_groups = table->gpu->counts_groups;
        params.is_wrong = has_fault(table, program, GI_FAULT_WRONG);
        params.is_shuffled = (table->gpu->quirks & GI_QUIRK_SHARED_SHUFFLES) != 0;
        if (!gi_glsl_source_init(&program->source, &params, err)) {
            return false;
        }
        gi_program_cache_key(&table->cache, program->source.text, program->source.size,
                             &program->cache_key);
    }
    if (!has_fault(table, program, GI_FAULT_COMPILE)) {
        program->name = gi_program_cache_load(&table->cache, &program->cache_key);
    }
    return true;
}

static void compile_program(const struct build *build, struct gi_program *program)
{
    if (program->name == 0) {
        gi_log_write(&build->table->gpu->log, GLINFER_LOG_DEBUG, "compiling %s", program->label);
        const uint32_t occurrence = build->table->gpu->settings->fault.occurrence;
        const bool is_broken = has_fault(build->table, program, GI_FAULT_COMPILE) &&
                               (occurrence == 0 || occurrence == program->n_compiled + 1);
        const GLchar *text = is_broken ? "GLINFER_FAULT" : program->source.text;
        program->n_compiled++;
        program->shader = glCreateShader(GL_COMPUTE_SHADER);
        glShaderSource(program->shader, 1, &text, NULL);
        glCompileShader(program->shader);
    }
}

static void link_program(const struct gi_gpu *gpu, struct gi_program *program)
{
    if (program->shader != 0 && program->name == 0) {
        program->name = glCreateProgram();
        gi_log_write(&gpu->log, GLINFER_LOG_DEBUG, "program %u: %s", program->name, program->label);
        glProgramParameteri(program->name, GL_PROGRAM_BINARY_RETRIEVABLE_HINT, GL_TRUE);
        glAttachShader(program->name, program->shader);
        glLinkProgram(program->name);
    }
}

// Asks for the result of a program after the first unbuilt one, if the driver's threads have
// finished it: NVIDIA's driver makes native code in the thread that asks, a third of the work.
static bool end_another(const struct build *build)
{
    for (uint32_t i = build->table->n_built + 1; i < build->end; i++) {
        struct gi_program *program = &build->table->programs[i];
        GLint is_complete = GL_FALSE, is_linked;
        if (program->shader == 0 || program->name == 0 || program->is_ended) {
            continue;
        }
        glGetProgramiv(program->name, GL_COMPLETION_STATUS_KHR, &is_complete);
        if (is_complete) {
            glGetProgramiv(program->name, GL_LINK_STATUS, &is_linked);
            program->is_ended = true;
            return true;
        }
    }
    return false;
}

// Waits until the driver's threads have done with the program. Ends others meanwhile, or sleeps,
// and reports progress now and then, so that the caller can cancel.
static bool await_program(const struct build *build, const struct gi_program *program,
                          uint32_t done)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    GLint is_complete = GL_FALSE;
    if (!build->table->gpu->ext.compiler_threads || program->shader == 0 || program->name == 0) {
        return true;
    }
    for (uint32_t i = 1;; i++) {
        glGetProgramiv(program->name, GL_COMPLETION_STATUS_KHR, &is_complete);
        if (is_complete) {
            return true;
        }
        const bool has_ended = end_another(build);
        if ((has_ended || i % 64 == 0) &&
            (!report(build, done) ||
             !gi_gpu_check(build->table->gpu, "compiling programs", build->err))) {
            return false;
        }
        if (!has_ended) {
            nanosleep(&pause, NULL);
        }
    }
}

// Fails with the driver's words if the program was refused.
static bool check_program(const struct gi_program *program, struct glinfer_error *err)
{
    char log[4096] = "", text[900];
    GLint is_compiled = GL_FALSE, is_linked = GL_FALSE;
    if (program->name == 0 || program->shader == 0) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER, "the driver gives no program for %s",
                            program->label);
    }
    glGetProgramiv(program->name, GL_LINK_STATUS, &is_linked);
    if (is_linked) {
        return true;
    }
    glGetShaderiv(program->shader, GL_COMPILE_STATUS, &is_compiled);
    if (is_compiled) {
        glGetProgramInfoLog(program->name, sizeof(log), NULL, log);
    } else {
        glGetShaderInfoLog(program->shader, sizeof(log), NULL, log);
    }
    gi_glsl_source_log(&program->source, log, text, sizeof(text));
    return gi_error_set(err, GLINFER_STATUS_DRIVER, "%s does not %s: %s", program->label,
                        is_compiled ? "link" : "compile",
                        *text ? text : "the driver gives no reason");
}

static void drop_source(struct gi_program *program)
{
    glDeleteShader(program->shader);
    program->shader = 0;
    program->is_ended = false;
    gi_glsl_source_finish(&program->source);
}

static bool finish_program(struct gi_program_table *table, struct gi_program *program,
                           struct glinfer_error *err)
{
    if (program->refusal) {
        return gi_error_set(err, GLINFER_STATUS_DRIVER, "%s", program->refusal);
    }
    if (program->shader == 0 && program->name != 0) {
        table->stats.n_cached++;
    } else {
        if (!check_program(program, err)) {
            return false;
        }
        gi_program_cache_store(&table->cache, &program->cache_key, program->name);
        table->stats.n_compiled++;
    }
    gi_gpu_label(table->gpu, GL_PROGRAM_KHR, program->name, program->label);
    drop_source(program);
    return true;
}

static bool keep_refusal(struct gi_program *program, const char *why, struct glinfer_error *err)
{
    if (!program->refusal) {
        program->refusal = strdup(why);
    }
    return program->refusal || gi_error_no_memory(err, strlen(why) + 1, "a driver's words");
}

// Leaves a program that the driver refused without a name, so that others can be built after it.
static void refuse_program(struct gi_program_table *table, const char *why)
{
    struct gi_program *program = &table->programs[table->n_built++];
    glDeleteProgram(program->name);
    program->name = 0;
    keep_refusal(program, why, NULL);
    drop_source(program);
}

//-- all of them -----------------------------------------------------------------------------------

static bool begin_program(const struct build *build, struct gi_program *program)
{
    struct glinfer_error why = {0};
    if (program->refusal) {
        return true;
    }
    if (!gi_address_check(GI_ROOM_TO_COMPILE, "compile a program", build->err)) {
        return false;
    }
    if (load_program(build->table, program, &why)) {
        compile_program(build, program);
        return true;
    }
    if (build->takes_all && why.status != GLINFER_STATUS_NO_MEMORY) {
        return keep_refusal(program, why.message, build->err);
    }
    return gi_error_pass(build->err, &why);
}

static bool start_window(const struct build *build, uint32_t end)
{
    struct gi_program_table *table = build->table;
    for (uint32_t i = table->n_built; i < end; i++) {
        if (!begin_program(build, &table->programs[i])) {
            return false;
        }
    }
    for (uint32_t i = table->n_built; i < end; i++) {
        link_program(table->gpu, &table->programs[i]);
    }
    return true;
}

// Compiles a program once more whose first compile or link failed: drivers fail for other reasons
// than the text, such as memory.
static bool finish_again(const struct build *build, struct gi_program *program,
                         struct glinfer_error *err)
{
    if (program->refusal || program->n_compiled != 1) {
        return false;
    }
    gi_log_write(&build->table->gpu->log, GLINFER_LOG_INFO, "%s; it is compiled once more",
                 err->message);
    gi_gpu_clear_errors(build->table->gpu);
    glDeleteProgram(program->name);
    glDeleteShader(program->shader);
    program->name = program->shader = 0;
    program->is_ended = false;
    compile_program(build, program);
    link_program(build->table->gpu, program);
    *err = (struct glinfer_error){0};
    return finish_program(build->table, program, err);
}

// Ends the first unbuilt program: it is built, or refused.
static bool settle_program(const struct build *build)
{
    struct gi_program_table *table = build->table;
    struct glinfer_error why = {0};
    struct gi_program *program = &table->programs[table->n_built];
    if (finish_program(table, program, &why) || finish_again(build, program, &why)) {
        table->n_built++;
        return true;
    }
    refuse_program(table, why.message);
    if (!build->takes_all) {
        return gi_error_pass(build->err, &why);
    }
    gi_log_write(&table->gpu->log, GLINFER_LOG_WARN, "%s", why.message);
    return true;
}

static bool build_window(const struct build *build, uint32_t end)
{
    struct gi_program_table *table = build->table;
    if (!start_window(build, end)) {
        return false;
    }
    while (table->n_built < end) {
        if (!await_program(build, &table->programs[table->n_built],
                           table->n_built - build->first) ||
            !settle_program(build) || !report(build, table->n_built - build->first)) {
            return false;
        }
    }
    return true;
}

void gi_program_drop_unbuilt(struct gi_program_table *table)
{
    for (uint32_t i = table->n_built; i < table->n_programs; i++) {
        glDeleteProgram(table->programs[i].name);
        table->programs[i].name = 0;
        free(table->programs[i].refusal);
        table->programs[i].refusal = NULL;
        drop_source(&table->programs[i]);
    }
}

bool gi_program_table_load(struct gi_program_table *table, bool *is_loaded,
                           struct glinfer_error *err)
{
    *is_loaded = true;
    for (uint32_t i = table->n_built; i < table->n_programs; i++) {
        if (!load_program(table, &table->programs[i], err)) {
            gi_program_drop_unbuilt(table);
            return false;
        }
        *is_loaded = *is_loaded && table->programs[i].name != 0;
    }
    return true;
}

bool gi_program_table_start(struct gi_program_table *table, struct glinfer_error *err)
{
    const struct build build = {
        .table = table, .end = table->n_programs, .takes_all = true, .err = err};
    if (!start_window(&build, table->n_programs)) {
        gi_program_drop_unbuilt(table);
        return false;
    }
    return gi_gpu_check(table->gpu, "beginning to compile programs", err);
}

static bool build_rest(struct gi_program_table *table, bool takes_all, glinfer_progress_fn progress,
                       void *user, struct glinfer_error *err)
{
    const struct build build = {.table = table,
                                .first = table->n_built,
                                .end = table->n_programs,
                                .takes_all = takes_all,
                                .progress = progress,
                                .user = user,
                                .err = err};
    const bool is_parallel =
        table->gpu->ext.compiler_threads != NULL && !gi_gpu_platform(table->gpu)->is_debug;
    bool is_built = table->n_built == table->n_programs || report(&build, 0);
    while (is_built && table->n_built < table->n_programs) {
        is_built = build_window(&build, is_parallel ? table->n_programs : table->n_built + 1);
    }
    gi_program_drop_unbuilt(table);
    return is_built && gi_gpu_check(table->gpu, "compiling programs", err);
}

bool gi_program_table_build(struct gi_program_table *table, glinfer_progress_fn progress,
                            void *user, struct glinfer_error *err)
{
    return build_rest(table, false, progress, user, err);
}

bool gi_program_table_build_all(struct gi_program_table *table, glinfer_progress_fn progress,
                                void *user, struct glinfer_error *err)
{
    return build_rest(table, true, progress, user, err);
}
