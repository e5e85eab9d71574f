#include "tokenizer/steps/steps.h"

#include "base/array.h"
#include "base/utf8.h"
#include "tokenizer/steps/regex.h"

#include <stdlib.h>

struct run;
struct gi_step;

// Bytes that the steps may make of a byte, next to a text of a step. The normal form KD makes 11.
enum { GROWTH_MAX = 64 };

// Appends what a piece becomes.
typedef bool step_function(struct run *run, const struct gi_step *step, struct gi_text piece);

struct step_row {
    const char *name;
    step_function *apply; // NULL: nothing
    int detail;           // enum gi_unicode_form, enum join
    bool has_regex, has_text;
};

struct gi_step {
    const struct step_row *row;
    struct gi_regex *regex; // or NULL
    struct gi_text text;    // in the memory of the steps
};

struct gi_steps {
    struct gi_step data[GI_STEPS_MAX];
    size_t count, marker;
    char *memory; // of the texts
    struct gi_charsmap charsmap;
};

struct run {
    const struct gi_steps *steps;
    const struct gi_matcher *matcher;
    struct gi_cut *out;
    struct glinfer_error *err;
    size_t size_max; // bytes that a step may make
    size_t index;    // of the piece
    bool is_first;   // the text is the start of all
};

//-- pieces ------------------------------------------------------------------------------------

void gi_cut_finish(struct gi_cut *cut)
{
    free(cut->bytes.data);
    free(cut->ends.data);
    *cut = (struct gi_cut){0};
}

static bool check_size(const struct run *run)
{
    return run->out->bytes.count <= run->size_max ||
           gi_error_set(run->err, GLINFER_STATUS_UNSUPPORTED,
                        "a step of the tokenizer makes more than %zu bytes of a text",
                        run->size_max);
}

static bool push(struct run *run, struct gi_text text)
{
    return gi_bytes_push(&run->out->bytes, text, run->err) && check_size(run);
}

// Ends a piece unless it is empty.
static bool end_piece(struct run *run)
{
    struct gi_word_ends *ends = &run->out->ends;
    const size_t end = run->out->bytes.count;
    const size_t last = ends->count ? ends->data[ends->count - 1] : 0;
    return end == last || GI_ARRAY_PUSH(ends, "the words of a text", run->err, end);
}

//-- the spans of an expression ----------------------------------------------------------------

struct span_search {
    struct gi_text piece;
    size_t at, last_end; // last_end: one more than the end of the last match; 0: none
};

// Finds the next match. An empty one that touches the match before it is passed over.
static bool next_span(struct run *run, const struct gi_regex *regex, struct span_search *search,
                      struct gi_span *span, bool *found)
{
    for (*found = false; search->at <= search->piece.size;) {
        if (!gi_regex_find(regex, run->matcher, search->piece, search->at, span, found, run->err)) {
            return false;
        }
        // \K may move the beginning of a match before what has been read, or past its end.
        if (!*found || span->end < span->begin || span->end < search->at) {
            *found = false;
            return true;
        }
        const bool is_passed = span->begin == span->end && search->last_end == span->end + 1;
        search->at = span->end;
        search->last_end = span->end + 1;
        if (!is_passed) {
            return true;
        }
        *found = false;
        do {
            search->at++;
        } while (search->at < search->piece.size &&
                 gi_utf8_continues(search->piece.data[search->at]));
    }
    return true;
}

//-- changes -----------------------------------------------------------------------------------

static bool change_form(struct run *run, const struct gi_step *step, struct gi_text piece)
{
    return gi_form_push((enum gi_unicode_form)step->row->detail, piece, &run->out->bytes, run->err);
}

static bool change_case(struct run *run, const struct gi_step *step, struct gi_text piece)
{
    (void)step;
    return gi_lower_push(piece, &run->out->bytes, run->err);
}

static bool is_valid_utf8(struct gi_text text)
{
    uint32_t code;
    size_t size = 1;
    for (; size && text.size; text = gi_text_from(text, size)) {
        size = gi_utf8_decode(text.data, text.size, &code);
    }
    return size;
}

// Looks up what replaces a text; false if nothing does, or bytes that are not UTF-8.
static bool find_replacement(const struct run *run, struct gi_text text,
                             struct gi_text *replacement)
{
    return gi_charsmap_find_shortest(&run->steps->charsmap, text, replacement) > 0 &&
           is_valid_utf8(*replacement);
}

// Appends what each character of a text becomes.
static bool map_characters(struct run *run, struct gi_text text)
{
    while (text.size > 0) {
        const size_t size = gi_utf8_loose_size(text.data, text.size);
        const struct gi_text character = {text.data, size ? size : 1};
        struct gi_text replacement;
        if (!push(run, find_replacement(run, character, &replacement) ? replacement : character)) {
            return false;
        }
        text = gi_text_from(text, character.size);
    }
    return true;
}

// Maps short graphemes as a whole, by the shortest beginning that the map has, as the library that
// defines the format does.
static bool map_graphemes(struct run *run, const struct gi_step *step, struct gi_text piece)
{
    enum { SHORT = 6 };
    (void)step;
    while (piece.size > 0) {
        const struct gi_text grapheme = {piece.data, gi_grapheme_size(piece)};
        struct gi_text replacement;
        const bool is_mapped =
            grapheme.size < SHORT && find_replacement(run, grapheme, &replacement);
        if (!(is_mapped ? push(run, replacement) : map_characters(run, grapheme))) {
            return false;
        }
        piece = gi_text_from(piece, grapheme.size);
    }
    return true;
}

static bool prepend(struct run *run, const struct gi_step *step, struct gi_text piece)
{
    return push(run, step->text) && push(run, piece);
}

static bool add_prefix(struct run *run, const struct gi_step *step, struct gi_text piece)
{
    const bool is_wanted = !step->row->detail || (run->is_first && run->index == 0);
    return is_wanted && !gi_text_begins(piece, step->text) ? prepend(run, step, piece)
                                                           : push(run, piece);
}

static bool replace(struct run *run, const struct gi_step *step, struct gi_text piece)
{
    struct span_search search = {.piece = piece};
    struct gi_span span;
    const bool is_surrounding = step->row->detail;
    bool found = true, is_ok = true;
    size_t done = 0;
    while (is_ok && (is_ok = next_span(run, step->regex, &search, &span, &found)) && found) {
        span.begin = span.begin < done ? done : span.begin;
        is_ok = push(run, (struct gi_text){piece.data + done, span.begin - done}) &&
                push(run, step->text);
        if (is_ok && is_surrounding) {
            is_ok = push(run, (struct gi_text){piece.data + span.begin, span.end - span.begin}) &&
                    push(run, step->text);
        }
        done = span.end;
    }
    return is_ok && push(run, gi_text_from(piece, done));
}

//-- cuts --------------------------------------------------------------------------------------

// Which matches, and texts between them, stay together.
enum join {
    ISOLATE,
    REMOVE,
    KEEP,
    CONTIGUOUS,
    WITH_PREVIOUS,
    WITH_NEXT,
    BUT_WITH_PREVIOUS,
    BUT_WITH_NEXT,
};

// Returns true if a match, or a text between matches, begins a piece after the one before it.
static bool is_cut_between(enum join join, bool is_match, bool was_match)
{
    switch (join) {
    case CONTIGUOUS:
        return is_match != was_match;
    case WITH_PREVIOUS:
        return !is_match || was_match;
    case BUT_WITH_PREVIOUS:
        return is_match || !was_match;
    case WITH_NEXT:
        return !was_match || is_match;
    case BUT_WITH_NEXT:
        return was_match || !is_match;
    default:
        return true;
    }
}

// The last match or text between matches that was pushed.
struct last_span {
    enum join join;
    bool has_any, was_match;
};

static bool push_span(struct run *run, struct last_span *last, struct gi_text text, bool is_match)
{
    if (last->has_any && is_cut_between(last->join, is_match, last->was_match) && !end_piece(run)) {
        return false;
    }
    const bool is_left_out =
        (last->join == REMOVE && is_match) || (last->join == KEEP && !is_match);
    last->has_any = true;
    last->was_match = is_match;
    return is_left_out || push(run, text);
}

static bool cut(struct run *run, const struct gi_step *step, struct gi_text piece)
{
    struct span_search search = {.piece = piece};
    struct last_span last = {.join = (enum join)step->row->detail};
    struct gi_span span;
    bool found = true, is_ok = true;
    size_t done = 0;
    while (is_ok && (is_ok = next_span(run, step->regex, &search, &span, &found)) && found) {
        span.begin = span.begin < done ? done : span.begin;
        const struct gi_text between = {piece.data + done, span.begin - done};
        const struct gi_text match = {piece.data + span.begin, span.end - span.begin};
        is_ok = (!between.size || push_span(run, &last, between, false)) &&
                push_span(run, &last, match, true);
        done = span.end;
    }
    return is_ok && (done == piece.size || push_span(run, &last, gi_text_from(piece, done), false));
}

//-- table -------------------------------------------------------------------------------------

// clang-format off
static const struct step_row rows[] = {
    {.name = "nfc", .apply = change_form, .detail = GI_FORM_C},
    {.name = "nfd", .apply = change_form, .detail = GI_FORM_D},
    {.name = "nfkc", .apply = change_form, .detail = GI_FORM_KC},
    {.name = "nfkd", .apply = change_form, .detail = GI_FORM_KD},
    {.name = "lowercase", .apply = change_case},
    {.name = "charsmap", .apply = map_graphemes},
    {.name = "prepend", .apply = prepend, .has_text = true},
    {.name = "prefix", .apply = add_prefix, .has_text = true},
    {.name = "prefix_first", .apply = add_prefix, .detail = true, .has_text = true},
    {.name = "replace", .apply = replace, .has_regex = true, .has_text = true},
    {.name = "surround", .apply = replace, .detail = true, .has_regex = true, .has_text = true},
    {.name = "isolate", .apply = cut, .detail = ISOLATE, .has_regex = true},
    {.name = "remove", .apply = cut, .detail = REMOVE, .has_regex = true},
    {.name = "keep", .apply = cut, .detail = KEEP, .has_regex = true},
    {.name = "contiguous", .apply = cut, .detail = CONTIGUOUS, .has_regex = true},
    {.name = "with_previous", .apply = cut, .detail = WITH_PREVIOUS, .has_regex = true},
    {.name = "with_next", .apply = cut, .detail = WITH_NEXT, .has_regex = true},
    {.name = "but_with_previous", .apply = cut, .detail = BUT_WITH_PREVIOUS, .has_regex = true},
    {.name = "but_with_next", .apply = cut, .detail = BUT_WITH_NEXT, .has_regex = true},
    {.name = "added_tokens"},
};
// clang-format on

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct step_row *find_row(struct gi_text name)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        if (gi_text_is(name, rows[i].name)) {
            return &rows[i];
        }
    }
    return NULL;
}

//-- create ------------------------------------------------------------------------------------

static bool add_step(struct gi_steps *steps, const struct gi_text texts[GI_TEXTS_PER_STEP],
                     struct glinfer_error *err)
{
    struct gi_step *step = &steps->data[steps->count];
    step->row = find_row(texts[0]);
    if (!step->row) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "the step '%.*s' (glinfer.tokenizer.steps) is not supported",
                            (int)(texts[0].size < 64 ? texts[0].size : 64),
                            texts[0].size ? texts[0].data : "");
    }
    steps->count++;
    if (step->row->has_regex) {
        step->regex = gi_regex_create(texts[1], GI_REGEX_OF_A_FILE, step->row->name, err);
        if (!step->regex) {
            return false;
        }
    }
    if (!step->row->apply && steps->marker == SIZE_MAX) {
        steps->marker = steps->count - 1;
    }
    return true;
}

static bool copy_texts(struct gi_steps *steps, const struct gi_text *texts,
                       struct glinfer_error *err)
{
    size_t size = 0;
    for (size_t i = 0; i < steps->count; i++) {
        size += texts[i * GI_TEXTS_PER_STEP + 2].size;
    }
    steps->memory = gi_array_zeroed(size, 1, "the steps of a tokenizer", err);
    char *room = steps->memory;
    for (size_t i = 0; room && i < steps->count; i++) {
        const struct gi_text text = texts[i * GI_TEXTS_PER_STEP + 2];
        if (text.size) {
            memcpy(room, text.data, text.size);
        }
        steps->data[i].text = (struct gi_text){room, text.size};
        room += text.size;
    }
    return steps->memory;
}

static bool check_texts(const struct gi_text *texts, size_t n_texts, struct glinfer_error *err)
{
    if (n_texts % GI_TEXTS_PER_STEP || n_texts / GI_TEXTS_PER_STEP > GI_STEPS_MAX) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "the tokenizer has %zu texts of steps (glinfer.tokenizer.steps), "
                            "expected three for each of at most %d steps",
                            n_texts, GI_STEPS_MAX);
    }
    for (size_t i = 0; i < n_texts; i++) {
        if (texts[i].size > GI_STEP_SIZE_MAX || !is_valid_utf8(texts[i])) {
            return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                                "step %zu of the tokenizer (glinfer.tokenizer.steps) has a text of "
                                "%zu bytes, expected at most %d bytes of UTF-8",
                                i / GI_TEXTS_PER_STEP, texts[i].size, GI_STEP_SIZE_MAX);
        }
    }
    return true;
}

struct gi_steps *gi_steps_create(const struct gi_text *texts, size_t n_texts,
                                 struct gi_text charsmap, struct glinfer_error *err)
{
    if (!check_texts(texts, n_texts, err)) {
        return NULL;
    }
    struct gi_steps *steps = gi_array_zeroed(1, sizeof(*steps), "the steps of a tokenizer", err);
    if (!steps) {
        return NULL;
    }
    steps->marker = SIZE_MAX;
    bool is_ok = gi_charsmap_init(&steps->charsmap, charsmap, err);
    for (size_t i = 0; is_ok && i < n_texts; i += GI_TEXTS_PER_STEP) {
        is_ok = add_step(steps, texts + i, err);
    }
    if (!is_ok || !copy_texts(steps, texts, err)) {
        gi_steps_destroy(steps);
        return NULL;
    }
    return steps;
}

void gi_steps_destroy(struct gi_steps *steps)
{
    if (!steps) {
        return;
    }
    for (size_t i = 0; i < steps->count; i++) {
        gi_regex_destroy(steps->data[i].regex);
    }
    gi_charsmap_finish(&steps->charsmap);
    free(steps->memory);
    free(steps);
}

size_t gi_steps_count(const struct gi_steps *steps, size_t *marker)
{
    *marker = steps->marker < steps->count ? steps->marker : 0;
    return steps->count;
}

//-- run ---------------------------------------------------------------------------------------

static bool run_step(struct run *run, const struct gi_step *step, const struct gi_cut *in)
{
    size_t begin = 0;
    run->out->bytes.count = run->out->ends.count = 0;
    for (size_t i = 0; i < in->ends.count; i++) {
        const struct gi_text piece = {in->bytes.data + begin, in->ends.data[i] - begin};
        run->index = i;
        if (!step->row->apply(run, step, piece) || !check_size(run) || !end_piece(run)) {
            return false;
        }
        begin = in->ends.data[i];
    }
    return true;
}

bool gi_steps_run(const struct gi_steps *steps, size_t begin, size_t end, struct gi_text text,
                  bool is_first, struct gi_cut *cut, struct glinfer_error *err)
{
    struct gi_matcher matcher;
    struct gi_cut other = {0};
    const size_t growth = SIZE_MAX / GROWTH_MAX < text.size ? SIZE_MAX / 2 : text.size * GROWTH_MAX;
    struct run run = {.steps = steps,
                      .matcher = &matcher,
                      .err = err,
                      .size_max = GI_STEP_SIZE_MAX + growth,
                      .is_first = is_first};
    if (!gi_matcher_init(&matcher, GI_REGEX_OF_A_FILE, err)) {
        return false;
    }
    run.out = cut;
    cut->bytes.count = cut->ends.count = 0;
    bool is_ok = push(&run, text) && end_piece(&run);
    for (size_t i = begin; is_ok && i < end; i++) {
        if (steps->data[i].row->apply) {
            const struct gi_cut in = *cut;
            *cut = other;
            other = in;
            is_ok = run_step(&run, &steps->data[i], &other);
        }
    }
    gi_cut_finish(&other);
    gi_matcher_finish(&matcher);
    return is_ok;
}
