#include "persistent/source/persistent_source.h"

#include "base/array.h"
#include "base/round.h"
#include "gpu/device/gpu_private.h"
#include "gpu/dispatch/step_state.h"
#include "gpu/program/program_private.h"
#include "persistent/source/persistent_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_WORDS 12

bool gi_persistent_refuse(const struct gi_persistent_maker *m, const struct gi_dispatch *dispatch,
                          const char *why)
{
    return gi_error_set(m->err, GLINFER_STATUS_UNSUPPORTED, "%s (%s) %s", dispatch->label,
                        gi_program_label(m->programs, dispatch->program), why);
}

bool gi_persistent_blame(const struct gi_persistent_maker *m, const struct gi_dispatch *dispatch,
                         const struct glinfer_error *found)
{
    return found->status == GLINFER_STATUS_UNSUPPORTED
               ? gi_persistent_refuse(m, dispatch, found->message)
               : gi_error_pass(m->err, found);
}

//-- stages ----------------------------------------------------------------------------------------

static bool is_same_grid(const struct gi_grid *a, const struct gi_grid *b)
{
    const bool is_fixed = a->rule == GI_GRID_FIXED;
    for (uint32_t i = 0; i < 3; i++) {
        const bool is_free = !is_fixed && i == a->axis;
        if (!is_free && a->size[i] != b->size[i]) {
            return false;
        }
    }
    return a->rule == b->rule && (is_fixed || (a->axis == b->axis && a->divisor == b->divisor));
}

bool gi_persistent_has_whole_state(const struct gi_persistent_maker *m,
                                   const struct gi_dispatch *dispatch)
{
    const struct gi_range *state = gi_dispatch_table_state(m->table);
    const struct gi_range *range = &dispatch->bindings[2];
    return range->buffer == state->buffer && range->offset == state->offset;
}

// Attention in groups too small for a head takes larger ones.
static bool expect_wg_size(const struct gi_persistent_maker *m, const struct gi_dispatch *dispatch)
{
    char why[96];
    if (dispatch->wg_size == m->group_size) {
        return true;
    }
    snprintf(why, sizeof(why), "works in groups of %u, and all of one dispatch have %u",
             dispatch->wg_size, m->group_size);
    return gi_persistent_refuse(
        m, dispatch, dispatch->wg_size > 0 ? why : "works in groups of a size of its own");
}

static bool open_stage(struct gi_persistent_maker *m, uint32_t entry)
{
    const struct gi_dispatch *dispatch = gi_dispatch_table_at(m->table, entry);
    const struct gi_program *program = &m->programs->programs[dispatch->program];
    if (m->n_stages == GI_PERSISTENT_MAX_STAGES) {
        return gi_persistent_refuse(m, dispatch, "is one kind of dispatch too many");
    }
    struct gi_persistent_stage *stage = &m->stages[m->n_stages++];
    *stage = (struct gi_persistent_stage){.program = dispatch->program,
                                          .first = dispatch,
                                          .params = gi_dispatch_table_params(m->table, entry)};
    struct gi_glsl_params params;
    struct glinfer_error own;
    gi_program_describe_source(program, &params);
    if (!gi_glsl_source_init(&stage->source, &params, m->err)) {
        return false;
    }
    if (!gi_stage_init(&stage->text, stage->source.text, &own)) {
        return gi_persistent_blame(m, dispatch, &own);
    }
    if (!expect_wg_size(m, dispatch)) {
        return false;
    }
    m->source->capability |= program->capability & ~GI_CAPABILITY_TEXBUF;
    memset(stage->is_same_begin, true, sizeof(stage->is_same_begin));
    memset(stage->is_same_buffer, true, sizeof(stage->is_same_buffer));
    for (uint32_t i = 0; i < stage->text.n_fields; i++) {
        stage->is_same_field[i] =
            !gi_persistent_has_whole_state(m, dispatch) && (dispatch->runtime_params >> i & 1) == 0;
    }
    return true;
}

// Returns the fields of the text that the parameters of an entry have: others are for other
// kernels.
static uint32_t count_fields(const struct gi_persistent_stage *stage,
                             const struct gi_dispatch *dispatch)
{
    return gi_min_u32(stage->text.n_fields, dispatch->params_size / (uint32_t)sizeof(uint32_t));
}

static void compare_entry(struct gi_persistent_maker *m, struct gi_persistent_stage *stage,
                          uint32_t entry)
{
    const struct gi_dispatch *dispatch = gi_dispatch_table_at(m->table, entry);
    const uint32_t *params = gi_dispatch_table_params(m->table, entry);
    stage->runtime_begins |= dispatch->runtime_begins;
    for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
        const struct gi_range *a = &dispatch->bindings[i], *b = &stage->first->bindings[i];
        stage->is_same_begin[i] = stage->is_same_begin[i] && a->offset == b->offset;
        stage->is_same_buffer[i] = stage->is_same_buffer[i] && a->buffer == b->buffer;
    }
    for (uint32_t i = 0; i < count_fields(stage, dispatch); i++) {
        stage->is_same_field[i] =
            stage->is_same_field[i] && params[i] == ((const uint32_t *)stage->params)[i];
    }
}

static bool find_stages(struct gi_persistent_maker *m)
{
    for (uint32_t entry = 0; entry < m->n_entries; entry++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(m->table, entry);
        uint32_t i = 0;
        for (uint32_t k = 0; k < GI_MAX_BINDINGS; k++) {
            if (dispatch->texels[k] != GI_TEXEL_NONE) {
                return gi_persistent_refuse(m, dispatch, "reads buffer textures");
            }
        }
        while (i < m->n_stages && (m->stages[i].program != dispatch->program ||
                                   strcmp(m->stages[i].first->label, dispatch->label) != 0 ||
                                   !is_same_grid(&m->stages[i].first->grid, &dispatch->grid))) {
            i++;
        }
        if (i == m->n_stages && !open_stage(m, entry)) {
            return false;
        }
        m->stage_of[entry] = (uint8_t)i;
        compare_entry(m, &m->stages[i], entry);
    }
    return true;
}

//-- slots -----------------------------------------------------------------------------------------

// Finds the states of a joint list's slots, which the program reads as one uniform block.
static bool find_slots(struct gi_persistent_maker *m)
{
    struct gi_range *states = &m->source->states;
    for (uint32_t entry = 0; entry < m->n_entries; entry++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(m->table, entry);
        const struct gi_range *own = &dispatch->state;
        *states = states->buffer ? *states : *own;
        if (dispatch->slot > 0 ||
            (own->buffer && (own->buffer != states->buffer || own->offset != states->offset))) {
            return gi_persistent_refuse(m, dispatch, "works for one of several sequences");
        }
    }
    return true;
}

//-- buffers ---------------------------------------------------------------------------------------

uint32_t gi_persistent_element_size(struct gi_stage_word type)
{
    static const struct {
        const char *name;
        uint32_t size;
    } types[] = {
        {"float", 4}, {"uint", 4}, {"vec2", 8}, {"uvec2", 8}, {"vec4", 16}, {"uvec4", 16},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (gi_stage_word_is(type, types[i].name)) {
            return types[i].size;
        }
    }
    return 0; // a struct
}

static bool is_written(const struct gi_dispatch_table *table, const struct gi_buffer *buffer)
{
    if (gi_dispatch_table_state(table)->buffer == buffer) {
        return true;
    }
    for (uint32_t entry = 0; entry < gi_dispatch_table_count(table); entry++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(table, entry);
        for (uint32_t i = 0; i < GI_MAX_BINDINGS; i++) {
            if ((dispatch->writes >> i & 1) && dispatch->bindings[i].buffer == buffer) {
                return true;
            }
        }
    }
    return false;
}

const struct gi_persistent_view *gi_persistent_find_view(const struct gi_persistent_maker *m,
                                                         struct gi_stage_word type,
                                                         const struct gi_buffer *buffer,
                                                         uint32_t *index)
{
    for (uint32_t i = 0; buffer && i < m->n_views; i++) {
        const struct gi_persistent_view *view = &m->views[i];
        for (*index = 0; *index < view->n_buffers; ++*index) {
            if (view->buffers[*index] == buffer && gi_stage_is_equal(view->type, type)) {
                return view;
            }
        }
    }
    return NULL;
}

static bool add_view(struct gi_persistent_maker *m, struct gi_stage_word type,
                     const struct gi_buffer *buffer)
{
    const bool is_hot = is_written(m->table, buffer);
    uint32_t i = 0;
    if (gi_persistent_find_view(m, type, buffer, &i)) {
        return true;
    }
    for (i = 0; i < m->n_views; i++) {
        if (m->views[i].is_hot == is_hot && gi_stage_is_equal(m->views[i].type, type)) {
            break;
        }
    }
    struct gi_persistent_view *view = &m->views[i];
    if (i == GI_PERSISTENT_MAX_VIEWS || view->n_buffers == GI_PERSISTENT_MAX_BUFFERS) {
        return gi_error_set(m->err, GLINFER_STATUS_UNSUPPORTED, "the model is in too many buffers");
    }
    view->type = type;
    view->is_hot = is_hot;
    view->buffers[view->n_buffers++] = buffer;
    m->n_views = i == m->n_views ? i + 1 : m->n_views;
    return true;
}

static bool find_views(struct gi_persistent_maker *m)
{
    for (uint32_t entry = 0; entry < m->n_entries; entry++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(m->table, entry);
        const struct gi_stage *text = &m->stages[m->stage_of[entry]].text;
        for (uint32_t i = 0; i < text->n_blocks; i++) {
            const struct gi_stage_block *block = &text->blocks[i];
            if (block->binding >= GI_MAX_BINDINGS) {
                return gi_persistent_refuse(m, dispatch,
                                            "has more storage blocks than a dispatch binds");
            }
            const struct gi_buffer *buffer = dispatch->bindings[block->binding].buffer;
            if (buffer && gi_persistent_element_size(block->type) > 0 &&
                !add_view(m, block->type, buffer)) {
                return false;
            }
        }
    }
    return true;
}

bool gi_persistent_bind(struct gi_persistent_maker *m, const struct gi_range *range)
{
    const uint32_t binding = m->next_binding++;
    if (binding >= m->gpu->limits.max_storage_blocks || binding >= GI_PERSISTENT_MAX_BINDINGS) {
        return gi_error_set(m->err, GLINFER_STATUS_UNSUPPORTED,
                            "the model is in more buffers than the %u storage blocks of a "
                            "program can take",
                            m->gpu->limits.max_storage_blocks);
    }
    if (range->size > m->gpu->limits.max_storage_block_size) {
        return gi_error_set(m->err, GLINFER_STATUS_UNSUPPORTED,
                            "a buffer of %llu MiB is over the largest storage block",
                            (unsigned long long)(range->size >> 20));
    }
    m->source->bindings[binding] = *range;
    m->source->n_bindings = binding + 1;
    return true;
}

// Views take one binding after another; blocks of structs come after them.
static bool bind_views(struct gi_persistent_maker *m)
{
    for (uint32_t i = 0; i < m->n_views; i++) {
        struct gi_persistent_view *view = &m->views[i];
        view->binding = m->next_binding;
        for (uint32_t k = 0; k < view->n_buffers; k++) {
            const struct gi_range range = {view->buffers[k], 0, view->buffers[k]->size};
            if (!gi_persistent_bind(m, &range)) {
                return false;
            }
        }
    }
    return true;
}

// Returns the qualifiers of a view. Values that are looked for by their tags are volatile: they
// must be loaded again each time.
static const char *qualifiers(const struct gi_persistent_view *view)
{
    if (!view->is_hot) {
        return "restrict readonly";
    }
    return gi_stage_word_is(view->type, "vec4") ? "coherent volatile" : "coherent";
}

static void write_views(const struct gi_persistent_maker *m)
{
    for (uint32_t i = 0; i < m->n_views; i++) {
        const struct gi_persistent_view *view = &m->views[i];
        const char *kind = view->is_hot ? "hot" : "cold";
        fprintf(m->out,
                "layout(std430, binding = %u) %s buffer %s_%.*s { %.*s at[]; } %s_%.*ss[%u];\n",
                view->binding, qualifiers(view), kind, GI_STAGE_TEXT(view->type),
                GI_STAGE_TEXT(view->type), kind, GI_STAGE_TEXT(view->type), view->n_buffers);
    }
}

//-- text ----------------------------------------------------------------------------------------

static bool write_text(struct gi_persistent_maker *m)
{
    gi_persistent_find_consumed(m);
    m->n_tag = gi_persistent_choose_tags(m);
    fprintf(m->out, "#define GRID_N_TAG %uu\n#define GRID_TELLS %d\n", m->n_tag > 0 ? m->n_tag : 1u,
            gi_persistent_can_tell(m));
    fprintf(m->out, "#define GRID_STATES %u\n",
            (uint32_t)(m->source->states.size / GI_STEP_STATE_STRIDE));
    fprintf(m->out,
            "#define GROUP_SIZE %u\n"
            "layout(std140, binding = 0) uniform Table { highp uvec4 table[%u]; };\n"
            "#include \"persistent/grid_stage.glsl\"\n",
            m->group_size, m->n_table_quads);
    write_views(m);
    if (!gi_persistent_write_stages(m)) {
        return false;
    }
    gi_persistent_write_walk(m);
    fputs("#include \"persistent/grid_walk.glsl\"\n", m->out);
    return true;
}

//-- table -----------------------------------------------------------------------------------------

static bool needs_params(const struct gi_persistent_stage *stage)
{
    return memchr(stage->is_same_field, false, stage->text.n_fields) != NULL;
}

static void fill_entry(struct gi_persistent_maker *m, uint32_t entry, uint32_t *params_at)
{
    const struct gi_dispatch *dispatch = gi_dispatch_table_at(m->table, entry);
    const struct gi_persistent_stage *stage = &m->stages[m->stage_of[entry]];
    uint32_t *words = m->source->table + (size_t)entry * ENTRY_WORDS;
    words[0] = m->stage_of[entry] | (gi_dispatch_table_barrier(m->table, entry) ? 0x100u : 0u);
    words[1] = *params_at;
    for (uint32_t i = 0; i < stage->text.n_blocks; i++) {
        const struct gi_stage_block *block = &stage->text.blocks[i];
        const struct gi_range *range = &dispatch->bindings[block->binding];
        uint32_t place;
        if (gi_persistent_find_view(m, block->type, range->buffer, &place)) {
            const bool is_fifth = block->binding == GI_MAX_BINDINGS - 1;
            words[is_fifth ? 2 : 4 + block->binding] =
                (uint32_t)(range->offset / gi_persistent_element_size(block->type));
            words[is_fifth ? 3 : 8 + block->binding] = place;
        }
    }
    if (needs_params(stage)) {
        memcpy(m->source->table + (size_t)*params_at * 4, gi_dispatch_table_params(m->table, entry),
               dispatch->params_size);
        *params_at += dispatch->params_size / 16;
    }
}

static bool fill_table(struct gi_persistent_maker *m)
{
    m->n_table_quads = m->n_entries * (ENTRY_WORDS / 4);
    for (uint32_t i = 0; i < m->n_entries; i++) {
        const struct gi_persistent_stage *stage = &m->stages[m->stage_of[i]];
        assert(stage->first);
        m->n_table_quads += needs_params(stage) ? stage->first->params_size / 16 : 0;
    }
    const size_t size = (size_t)m->n_table_quads * 16;
    if (size > m->gpu->limits.max_uniform_block_size) {
        return gi_error_set(m->err, GLINFER_STATUS_UNSUPPORTED,
                            "a table of %u dispatches takes %zu bytes, over the %u of a uniform "
                            "block",
                            m->n_entries, size, m->gpu->limits.max_uniform_block_size);
    }
    m->source->table = gi_array_zeroed(size, 1, "a persistent table", m->err);
    if (!m->source->table) {
        return false;
    }
    m->source->n_words = m->n_table_quads * 4;
    uint32_t params_at = m->n_entries * (ENTRY_WORDS / 4);
    for (uint32_t i = 0; i < m->n_entries; i++) {
        fill_entry(m, i, &params_at);
    }
    return true;
}

//-- all of it -------------------------------------------------------------------------------------

static bool make(struct gi_persistent_maker *m)
{
    const struct gi_range *state = gi_dispatch_table_state(m->table);
    m->out = open_memstream(&m->source->text, &m->out_size);
    m->stage_of = calloc(m->n_entries + 1, 1);
    m->is_consumed = calloc(m->n_entries + 1, sizeof(bool));
    m->is_joined = calloc(m->n_entries + 1, sizeof(bool));
    if (!m->out || !m->stage_of || !m->is_consumed || !m->is_joined) {
        return gi_error_no_memory(m->err, m->n_entries, "a persistent table");
    }
    return find_slots(m) && find_stages(m) && find_views(m) && gi_persistent_bind(m, state) &&
           bind_views(m) && fill_table(m) && write_text(m);
}

bool gi_persistent_source_init(struct gi_persistent_source *source, const struct gi_gpu *gpu,
                               const struct gi_dispatch_table *table,
                               const struct gi_program_table *programs, uint32_t group_size,
                               struct glinfer_error *err)
{
    *source = (struct gi_persistent_source){.capability = GI_CAPABILITY_BASE};
    struct gi_persistent_maker *m = calloc(1, sizeof(*m));
    if (!m) {
        return gi_error_no_memory(err, sizeof(*m), "a persistent table");
    }
    *m = (struct gi_persistent_maker){.gpu = gpu,
                                      .table = table,
                                      .n_entries = gi_dispatch_table_count(table),
                                      .programs = programs,
                                      .source = source,
                                      .group_size = group_size,
                                      .next_binding = GI_PERSISTENT_STATE,
                                      .err = err};
    bool ok = make(m);
    if (m->out) {
        ok = fclose(m->out) == 0 && ok;
    }
    for (uint32_t i = 0; i < m->n_stages; i++) {
        gi_stage_finish(&m->stages[i].text);
        gi_glsl_source_finish(&m->stages[i].source);
    }
    free(m->stage_of);
    free(m->is_consumed);
    free(m->is_joined);
    free(m);
    if (!ok) {
        gi_persistent_source_finish(source);
    }
    return ok;
}

void gi_persistent_source_finish(struct gi_persistent_source *source)
{
    free(source->text);
    free(source->table);
    *source = (struct gi_persistent_source){0};
}
