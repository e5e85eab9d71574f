// list_dump DIR MODEL...: writes the dispatch lists that sessions record for each model into DIR, a
// file for each device class and executor, and the hash of the GLSL of each program that they
// request. The first device stands in for those of each class. Builds no program of a list.
#include "engine/api/call.h"
#include "engine/api/score.h"
#include "engine/session/verify.h"
#include "gpu/dispatch/dispatch_private.h"
#include "gpu/program/program_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { N_CTX = 512, N_SLOTS = 3, MAX_BUFFERS = 512 };

// Simulated devices: the class of a renderer, with the limits of the first device.
static const struct flavour {
    const char *name, *renderer, *limits;
    bool has_half, has_subgroups;
} flavours[] = {
    {"nvidia", "NVIDIA", NULL, false, true},
    {"nvidia-half", "NVIDIA", NULL, true, true},
    {"intel", "Intel", NULL, false, false},
    {"amd-half", "AMD", NULL, true, false},
    {"v3d", "V3D", "es31", false, false},
    {"mali-t", "Mali-T", "es31", false, false},
    {"mali-valhall", "Mali-G610", NULL, false, false},
    {"adreno-half", "FD7", NULL, true, false},
    {"llvmpipe", "llvmpipe", NULL, false, false},
};

//-- names of buffers ------------------------------------------------------------------------------

static struct named_buffer {
    const struct gi_buffer *buffer;
    char label[64];
    uint32_t number;
} buffers[MAX_BUFFERS];
static uint32_t n_buffers;

bool __real_gi_buffer_init_paged(struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size,
                                 uint64_t together, const char *label, struct glinfer_error *err);
bool __wrap_gi_buffer_init_paged(struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size,
                                 uint64_t together, const char *label, struct glinfer_error *err);
void __real_gi_buffer_finish(struct gi_buffer *buffer, struct gi_gpu *gpu);
void __wrap_gi_buffer_finish(struct gi_buffer *buffer, struct gi_gpu *gpu);

// Names a buffer after its label and the number of live buffers that have the same.
bool __wrap_gi_buffer_init_paged(struct gi_buffer *buffer, struct gi_gpu *gpu, uint64_t size,
                                 uint64_t together, const char *label, struct glinfer_error *err)
{
    uint32_t n_same = 0;
    for (uint32_t i = 0; i < n_buffers; i++) {
        n_same += strcmp(buffers[i].label, label) == 0;
    }
    if (n_buffers < MAX_BUFFERS) {
        struct named_buffer *named = &buffers[n_buffers++];
        named->buffer = buffer;
        named->number = n_same;
        snprintf(named->label, sizeof(named->label), "%s", label);
    }
    return __real_gi_buffer_init_paged(buffer, gpu, size, together, label, err);
}

void __wrap_gi_buffer_finish(struct gi_buffer *buffer, struct gi_gpu *gpu)
{
    for (uint32_t i = 0; i < n_buffers; i++) {
        if (buffers[i].buffer == buffer) {
            buffers[i] = buffers[--n_buffers];
            break;
        }
    }
    __real_gi_buffer_finish(buffer, gpu);
}

//-- printing --------------------------------------------------------------------------------------

static FILE *out; // of the lists that are recorded now

static void print_range(const char *name, const struct gi_range *range)
{
    for (uint32_t i = 0; range->buffer && i < n_buffers; i++) {
        if (buffers[i].buffer == range->buffer) {
            fprintf(out, "  %s %s.%u+%llu:%llu", name, buffers[i].label, buffers[i].number,
                    (unsigned long long)range->offset, (unsigned long long)range->size);
        }
    }
}

static void print_program(const struct gi_program_table *programs, uint32_t index)
{
    static const char *const names[] = {
#define GI_PROGRAM(id, file, defines, capability) #id,
#include "glsl/programs.def"
    };
    const struct gi_program_key *key = gi_program_key(programs, index);
    fprintf(out, "%s quant=%d", names[key->id], (int32_t)key->quant);
    for (uint32_t i = 0; i < key->n_defines; i++) {
        fprintf(out, " %s=%d", key->defines[i].name, key->defines[i].value);
    }
}

static void print_entry(const struct gi_dispatch_table *list,
                        const struct gi_program_table *programs, uint32_t i)
{
    const struct gi_dispatch *d = gi_dispatch_table_at(list, i);
    const struct gi_grid *grid = &d->grid;
    const uint32_t *words = gi_dispatch_table_params(list, i);
    fprintf(out, "%s: ", d->label);
    print_program(programs, d->program);
    fprintf(out, "\n ");
    for (uint32_t k = 0; k < GI_MAX_BINDINGS; k++) {
        char name[32];
        snprintf(name, sizeof(name), "%u%s%s", k, d->writes >> k & 1 ? "w" : "",
                 d->texels[k] ? "t" : "");
        print_range(name, &d->bindings[k]);
    }
    print_range("uniform", &d->uniform);
    print_range("state", &d->state);
    fprintf(out, "\n  grid %ux%ux%u rule %d axis %u/%u +%u*%u whole %d divisible %d.%u",
            grid->size[0], grid->size[1], grid->size[2], (int)grid->rule, grid->axis, grid->divisor,
            grid->added, grid->times, grid->is_whole, grid->is_divisible, grid->divisible_axis);
    fprintf(out, " barrier %x counts %d slot %u state %d wg %u owners %u+%u/%u tags %d%d split %u",
            gi_dispatch_table_barrier(list, i), (int32_t)list->entries[i].slot, d->slot,
            d->writes_state, d->wg_size, d->owners.begin, d->owners.count, d->owners.per_group,
            (int)d->publishes, d->consumes, d->n_split);
    fprintf(out, " runtime %llx.%x sums %llu %llu %llu %llu %u\n  params",
            (unsigned long long)d->runtime_params, d->runtime_begins,
            (unsigned long long)d->weight_bytes, (unsigned long long)d->n_weight,
            (unsigned long long)d->key_bytes, (unsigned long long)d->key_flops, d->window);
    for (uint32_t k = 0; k < d->params_size / sizeof(words[0]); k++) {
        fprintf(out, " %x", words[k]);
    }
    fprintf(out, "\n");
}

// Prints a list, or the error where it could not be recorded.
static void print_list(const char *name, const struct gi_dispatch_table *list,
                       const struct gi_program_table *programs, const struct glinfer_error *err)
{
    fprintf(out, "== %s %s\n", name, list ? "" : err->message);
    for (uint32_t i = 0; list && i < gi_dispatch_table_count(list); i++) {
        print_entry(list, programs, i);
    }
}

//-- lists that the engine builds at once ----------------------------------------------------------

static const struct gi_program_table *sealing; // NULL: lists are sealed

bool __real_gi_program_table_build_all(struct gi_program_table *table, glinfer_progress_fn progress,
                                       void *user, struct glinfer_error *err);
bool __wrap_gi_program_table_build_all(struct gi_program_table *table, glinfer_progress_fn progress,
                                       void *user, struct glinfer_error *err);
void __wrap_gi_selftest_check_refusals(const struct gi_tested *tested,
                                       const struct gi_dispatch_table *list, bool *is_changed);
bool __real_gi_dispatch_table_seal(struct gi_dispatch_table *table, struct glinfer_error *err);
bool __wrap_gi_dispatch_table_seal(struct gi_dispatch_table *table, struct glinfer_error *err);

bool __wrap_gi_program_table_build_all(struct gi_program_table *table, glinfer_progress_fn progress,
                                       void *user, struct glinfer_error *err)
{
    return sealing || __real_gi_program_table_build_all(table, progress, user, err);
}

// Refuses no program, since none is built.
void __wrap_gi_selftest_check_refusals(const struct gi_tested *tested,
                                       const struct gi_dispatch_table *list, bool *is_changed)
{
    (void)tested, (void)list, (void)is_changed;
}

// Prints the list instead, and fails.
bool __wrap_gi_dispatch_table_seal(struct gi_dispatch_table *table, struct glinfer_error *err)
{
    if (!sealing) {
        return __real_gi_dispatch_table_seal(table, err);
    }
    print_list("sealed", table, sealing, err);
    return gi_error_set(err, GLINFER_STATUS_CANCELLED, "printed");
}

//-- the lists of a session ------------------------------------------------------------------------

static void dump_tables(struct glinfer_session *session)
{
    const struct gi_program_table *programs = session->model->device->programs;
    for (uint32_t i = 0; i < GI_LIST_COUNT; i++) {
        struct glinfer_error err = {0};
        const bool is_step = i > GI_LIST_STEP && i < GI_LIST_LOGITS; // the first has its layers
        const bool is_deaf = i == GI_LIST_HEAR && !session->model->weights.conv1;
        const bool is_mute = i == GI_LIST_SPEECH && session->model->speech.ids.n_vocab == 0;
        char name[32];
        snprintf(name, sizeof(name), "list %u", i);
        if (!is_step && !is_deaf && !is_mute) {
            print_list(name, gi_tables_list(&session->tables, i, &err), programs, &err);
        }
    }
}

static void dump_persistent(struct glinfer_session *session)
{
    const struct gi_dispatch_table_params params = {.state = session->runner.state};
    struct gi_program_table *programs = session->model->device->programs;
    static const enum gi_step_end ends[] = {GI_STEP_END_GREEDY, GI_STEP_END_SMALL_K,
                                            GI_STEP_END_FULL};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct glinfer_error err = {0};
        struct gi_recorder recorder = {.gpu = gi_session_gpu(session),
                                       .programs = programs,
                                       .form = {.group_size = 128, .n_groups = 16}};
        gi_recorder_begin(&recorder, &params, &err);
        gi_tables_record_into(&session->tables, ends[i], ends[i] != GI_STEP_END_FULL, &recorder);
        print_list("persistent", gi_recorder_end(&recorder, &err), programs, &err);
        gi_dispatch_table_destroy(recorder.table);
    }
}

static void dump_joint(struct glinfer_session *session)
{
    struct gi_joint_tables *tables = &session->group->joint;
    static const enum gi_step_end ends[] = {GI_STEP_END_GREEDY,
                                            GI_STEP_END_ADJUSTED + GI_STEP_END_FULL};
    for (uint32_t i = 0; tables->model && i < 4; i++) {
        struct glinfer_error err = {0};
        struct gi_dispatch_table *list =
            gi_joint_tables_record(tables, i < 2 ? (1u << N_SLOTS) - 1 : 2, ends[i % 2], &err);
        print_list("joint", list, session->model->device->programs, &err);
        gi_dispatch_table_destroy(list);
    }
}

// Prints the lists for scores and drafts.
static void dump_rows(struct glinfer_session *session)
{
    struct glinfer_error err = {0};
    sealing = session->model->device->programs;
    if (!session->model->hparams.is_encoder) {
        gi_scorer_open(session, &err);
        if (gi_verifier_suits(session)) {
            gi_verifier_open(session, GI_STEP_END_GREEDY, &err);
        }
    }
    sealing = NULL;
}

//-- models and devices ----------------------------------------------------------------------------

static const struct executor {
    const char *name;
    void (*dump)(struct glinfer_session *session);
    uint32_t n_slots;
    bool is_indirect;
} executors[] = {
    {"direct", dump_tables, 1, false},
    {"indirect", dump_tables, 1, true},
    {"persistent", dump_persistent, 1, false},
    {"joint", dump_joint, N_SLOTS, false},
    {"rows", dump_rows, 1, false},
};

static FILE *open_file(const char *dir, const char *flavour, const char *model, const char *name)
{
    const char *slash = strrchr(model, '/');
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", dir, flavour);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/%s/%s.%s", dir, flavour, slash ? slash + 1 : model, name);
    return fopen(path, "w");
}

static bool dump_executor(struct glinfer_model *model, const struct executor *executor,
                          struct glinfer_error *err)
{
    struct glinfer_session *sessions[N_SLOTS] = {0};
    struct glinfer_session_params params;
    struct gi_platform_saved saved;
    glinfer_session_params_init(&params);
    params.n_ctx = N_CTX;
    gi_gpu_set_indirect(model->device->gpu, executor->is_indirect);
    const bool ok = glinfer_sessions_create(model, &params, executor->n_slots, sessions, err) &&
                    gi_session_enter(sessions[0], &saved, err);
    if (ok) {
        executor->dump(sessions[0]);
        gi_session_leave(sessions[0], &saved);
    } else {
        fprintf(out, "== %s\n", err->message);
    }
    for (uint32_t i = 0; i < executor->n_slots; i++) {
        glinfer_session_destroy(&sessions[i]);
    }
    return ok;
}

static bool dump_programs(const struct gi_program_table *programs, struct glinfer_error *err)
{
    for (uint32_t i = 0; i < programs->n_programs; i++) {
        struct gi_glsl_params params;
        struct gi_glsl_source source;
        struct gi_hash hash;
        char text[33];
        gi_program_describe_source(&programs->programs[i], &params);
        if (!gi_glsl_source_init(&source, &params, err)) {
            return false;
        }
        gi_hash_init(&hash);
        gi_hash_add(&hash, source.text, source.size);
        gi_hash_text(&hash, text);
        fprintf(out, "%s ", text);
        print_program(programs, i);
        fprintf(out, "\n");
        gi_glsl_source_finish(&source);
    }
    return true;
}

// Dumps what a model records on a device that is opened for it.
static bool dump_model(const char *dir, const struct flavour *flavour, const char *path,
                       struct glinfer_error *err)
{
    struct glinfer_device_params device_params;
    struct glinfer_model_params model_params;
    struct gi_settings settings = {.half = flavour->has_half ? GI_CHOICE_YES : GI_CHOICE_NO};
    gi_settings_set(&settings, "GLINFER_CLASS", flavour->renderer);
    gi_settings_set(&settings, "GLINFER_LIMITS", flavour->limits);
    gi_settings_set(&settings, "GLINFER_TUNING", "off");
    gi_settings_set(&settings, "GLINFER_SELFTEST", "off");
    glinfer_device_params_init(&device_params);
    glinfer_model_params_init(&model_params);
    device_params.allow_software = true;
    device_params.cache_dir = "";
    model_params.path = path;
    n_buffers = 0;
    struct glinfer_device *device = gi_device_create(&device_params, &settings, err);
    if (!device) {
        return false;
    }
    if (flavour->has_subgroups) {
        struct gi_limits *limits = &device->gpu->limits;
        limits->has_subgroups = true;
        limits->subgroup_size = 32;
        limits->max_shared_size = 48 << 10;
    }
    struct glinfer_model *model = glinfer_model_load(device, &model_params, err);
    bool is_good = true;
    for (size_t i = 0; is_good && i < sizeof(executors) / sizeof(executors[0]); i++) {
        out = open_file(dir, flavour->name, path, executors[i].name);
        is_good = out != NULL;
        if (model && out) {
            dump_executor(model, &executors[i], err);
        } else if (out) {
            fprintf(out, "== %s\n", err->message);
        }
        is_good = is_good && fclose(out) == 0;
    }
    out = is_good ? open_file(dir, flavour->name, path, "programs") : NULL;
    is_good = out && dump_programs(device->programs, err) && fclose(out) == 0;
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    return is_good;
}

int main(int argc, char **argv)
{
    struct glinfer_error err = {.message = "usage: list_dump DIR MODEL..."};
    bool is_good = argc > 2;
    for (size_t i = 0; is_good && i < sizeof(flavours) / sizeof(flavours[0]); i++) {
        for (int k = 2; is_good && k < argc; k++) {
            is_good = dump_model(argv[1], &flavours[i], argv[k], &err);
        }
    }
    if (!is_good) {
        fprintf(stderr, "list_dump: %s\n", err.message);
    }
    return is_good ? 0 : 1;
}
