#include "tokenizer/vocab/special.h"

#include "base/array.h"

#include <stdlib.h>

//-- what tokens are known to be ----------------------------------------------------------------

// Files seldom say which tokens end a turn, so they are known by their spelling. These lists are
// those of llama.cpp (llama_vocab::impl::load).
static const char *const stop_tokens[] = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
    "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
    "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
    "<｜end▁of▁sentence｜>", "[e~[",
    // Padding, and the border between two files or repositories.
    "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|fim_repo|>", "<|repo_name|>",
    "<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>",
    // Not in that list: FunctionGemma waits for the result of a call.
    "<start_function_response>"};

// Control tokens, though some files call them normal.
static const char *const control_tokens[] = {
    "<|fim_prefix|>",  "<fim-prefix>", "<fim_prefix>",    "<｜fim▁begin｜>", "<PRE>",
    "▁<PRE>",          "▁<SUF>",       "▁<MID>",          "<|code_prefix|>", "<|prefix|>",
    "<|fim_suffix|>",  "<fim-suffix>", "<fim_suffix>",    "<｜fim▁hole｜>",  "<SUF>",
    "<|code_suffix|>", "<|suffix|>",   "<|fim_middle|>",  "<fim-middle>",    "<fim_middle>",
    "<｜fim▁end｜>",   "<MID>",        "<|code_middle|>", "<|middle|>"};

// Part of an answer, though some files call them control tokens.
static const char *const text_tokens[] = {"<|channel|>", "<|message|>", "<|start|>",
                                          "<|constrain|>"};

// Exempts a token from ending answers in vocabularies that have the two others.
static const struct {
    const char *text, *other, *another;
    enum gi_token_type type;
} stop_exceptions[] = {
    {"<|end|>", "<|return|>", "<|call|>", GI_TOKEN_TYPE_USER_DEFINED},
    {"<|end|>", "<|return|>", "<|calls|>", GI_TOKEN_TYPE_USER_DEFINED},
    {"<|end|>", "<|flush|>", "<|call|>", GI_TOKEN_TYPE_USER_DEFINED},
    {"<|end|>", "<|flush|>", "<|calls|>", GI_TOKEN_TYPE_USER_DEFINED},
    {"</s>", "<|tool_response>", "<|tool_response>", GI_TOKEN_TYPE_NORMAL},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static int32_t find_token(const struct gi_text_map *text_to_id, const char *text)
{
    return gi_text_map_find(text_to_id, gi_text_of(text));
}

static size_t find_stop(const struct gi_special *special, int32_t id)
{
    size_t i = 0;
    while (i < special->n_stop_ids && special->stop_ids[i] != id) {
        i++;
    }
    return i;
}

// Keeps the list sorted.
void gi_special_add_stop(struct gi_special *special, int32_t id)
{
    size_t i = special->n_stop_ids;
    if (id < 0 || find_stop(special, id) < i || i == GI_STOP_IDS_MAX) {
        return;
    }
    for (; i > 0 && special->stop_ids[i - 1] > id; i--) {
        special->stop_ids[i] = special->stop_ids[i - 1];
    }
    special->stop_ids[i] = id;
    special->n_stop_ids++;
}

static void apply_exceptions(struct gi_special *special, const struct gi_text_map *text_to_id,
                             uint8_t *types)
{
    for (size_t i = 0; i < COUNT_OF(stop_exceptions); i++) {
        int32_t id = find_token(text_to_id, stop_exceptions[i].text);
        if (id >= 0 && find_token(text_to_id, stop_exceptions[i].other) >= 0 &&
            find_token(text_to_id, stop_exceptions[i].another) >= 0) {
            types[id] = (uint8_t)stop_exceptions[i].type;
            const size_t at = find_stop(special, id);
            if (at < special->n_stop_ids) {
                special->n_stop_ids--;
                memmove(special->stop_ids + at, special->stop_ids + at + 1,
                        (special->n_stop_ids - at) * sizeof(special->stop_ids[0]));
            }
        }
    }
}

static void set_types(const struct gi_text_map *text_to_id, const char *const *tokens,
                      size_t n_tokens, enum gi_token_type type, uint8_t *types)
{
    for (size_t i = 0; i < n_tokens; i++) {
        int32_t id = find_token(text_to_id, tokens[i]);
        if (id >= 0) {
            types[id] = (uint8_t)type;
        }
    }
}

static void apply_known(struct gi_special *special, const struct gi_text_map *text_to_id,
                        uint8_t *types, const int32_t *ends, size_t n_ends)
{
    set_types(text_to_id, stop_tokens, COUNT_OF(stop_tokens), GI_TOKEN_TYPE_CONTROL, types);
    set_types(text_to_id, control_tokens, COUNT_OF(control_tokens), GI_TOKEN_TYPE_CONTROL, types);
    set_types(text_to_id, text_tokens, COUNT_OF(text_tokens), GI_TOKEN_TYPE_USER_DEFINED, types);
    for (size_t i = 0; i < n_ends; i++) {
        gi_special_add_stop(special, ends[i]);
    }
    for (size_t i = 0; i < COUNT_OF(stop_tokens); i++) {
        gi_special_add_stop(special, find_token(text_to_id, stop_tokens[i]));
    }
    apply_exceptions(special, text_to_id, types);
}

//-- collect -----------------------------------------------------------------------------------

static bool is_special(const struct gi_special *special, const uint8_t *is_found, size_t id)
{
    const uint8_t type = special->types[id];
    const bool is_taken = is_found
                              ? is_found[id]
                              : type == GI_TOKEN_TYPE_CONTROL || type == GI_TOKEN_TYPE_UNKNOWN ||
                                    type == GI_TOKEN_TYPE_USER_DEFINED;
    return is_taken && gi_text_list_at(special->texts, id).size;
}

// Leaves out those that others of the same text stand before wherever they could be found. A
// user-defined one is found where control ones are not.
static void drop_equal(struct gi_special *special)
{
    struct gi_sorted_texts *sorted = &special->sorted;
    size_t n = 0;
    for (size_t i = 0; i < sorted->count; i++) {
        const bool is_covered = n > 0 && gi_sorted_texts_is_equal(sorted, n - 1, i) &&
                                (special->types[sorted->ids[n - 1]] == GI_TOKEN_TYPE_USER_DEFINED ||
                                 special->types[sorted->ids[i]] != GI_TOKEN_TYPE_USER_DEFINED);
        sorted->ids[n] = sorted->ids[i];
        n += !is_covered;
    }
    sorted->count = n;
}

static bool collect(struct gi_special *special, const struct gi_text_list *texts,
                    const uint8_t *types, const uint8_t *is_found, struct glinfer_error *err)
{
    special->texts = texts;
    special->types = types;
    size_t count = 0;
    for (size_t id = 0; id < texts->count; id++) {
        count += is_special(special, is_found, id);
    }
    struct gi_sorted_texts *sorted = &special->sorted;
    if (!gi_sorted_texts_init(sorted, texts, count, err)) {
        return false;
    }
    for (size_t id = 0; id < texts->count; id++) {
        if (is_special(special, is_found, id)) {
            sorted->ids[sorted->count++] = (int32_t)id;
        }
    }
    gi_sorted_texts_sort(sorted);
    drop_equal(special);
    gi_sorted_texts_index(sorted);
    return true;
}

bool gi_special_init(struct gi_special *special, const struct gi_text_list *texts,
                     const struct gi_text_map *text_to_id, uint8_t *types, const int32_t *ends,
                     size_t n_ends, struct glinfer_error *err)
{
    apply_known(special, text_to_id, types, ends, n_ends);
    return collect(special, texts, types, NULL, err);
}

bool gi_special_init_found(struct gi_special *special, const struct gi_text_list *texts,
                           const uint8_t *types, const uint8_t *is_found, struct glinfer_error *err)
{
    gi_sorted_texts_finish(&special->sorted);
    return collect(special, texts, types, is_found, err);
}

void gi_special_finish(struct gi_special *special)
{
    gi_sorted_texts_finish(&special->sorted);
    memset(special, 0, sizeof(*special));
}

bool gi_special_trims_after(const struct gi_special *special, int32_t id)
{
    static const char *const exceptions[] = {"<unk>", "<s>", "<|endoftext|>"};
    struct gi_text text = gi_text_list_at(special->texts, (size_t)id);
    bool is_trimming = special->is_trimming;
    for (size_t i = 0; i < COUNT_OF(exceptions); i++) {
        is_trimming = is_trimming && !gi_text_is(text, exceptions[i]);
    }
    return is_trimming;
}

//-- find --------------------------------------------------------------------------------------

// Names of HTML elements whose tags are user-defined tokens of text models.
static bool is_element(struct gi_text name)
{
    static const char *const names[] = {
        "a",      "b",      "blockquote", "body",   "br",    "button", "caption",  "center",
        "code",   "dd",     "div",        "dl",     "dt",    "em",     "font",     "footer",
        "form",   "h1",     "h2",         "h3",     "h4",    "h5",     "h6",       "head",
        "header", "hr",     "html",       "i",      "img",   "input",  "label",    "li",
        "link",   "main",   "meta",       "nav",    "ol",    "option", "p",        "pre",
        "s",      "script", "section",    "select", "small", "span",   "strong",   "style",
        "sub",    "sup",    "svg",        "table",  "tbody", "td",     "textarea", "tfoot",
        "th",     "thead",  "title",      "tr",     "u",     "ul",
    };
    size_t i = 0;
    while (i < COUNT_OF(names) && !gi_text_is(name, names[i])) {
        i++;
    }
    return i < COUNT_OF(names);
}

// Returns true if a user-defined token looks like a mark of a conversation's parts, such as
// <tool_call> or [THINK], and not like text: white space, letters, tags of HTML.
static bool is_mark(struct gi_text token)
{
    static const char opening[] = "<[{|", closing[] = ">]}|";
    const char first = token.size > 2 ? token.data[0] : 0;
    const char *found = first ? strchr(opening, first) : NULL;
    if (!found || token.data[token.size - 1] != closing[found - opening]) {
        return false;
    }
    const size_t begin = token.data[1] == '/' ? 2 : 1;
    return *found != '<' ||
           !is_element((struct gi_text){token.data + begin, token.size - begin - 1});
}

// Takes the token of that index as the match if the text has it there, and is longer than the
// match.
static void try_token(const struct gi_special *special, size_t index, struct gi_text text,
                      size_t size_max, struct gi_special_match *match)
{
    int32_t id = special->sorted.ids[index];
    struct gi_text token = gi_text_list_at(special->texts, (size_t)id);
    size_t end = special->types[id] != GI_TOKEN_TYPE_USER_DEFINED ? match->control_end
                 : is_mark(token)                                 ? match->mark_end
                                                                  : text.size;
    if (token.size > match->size && token.size <= size_max && end >= match->offset &&
        token.size <= end - match->offset &&
        memcmp(token.data, text.data + match->offset, token.size) == 0) {
        match->size = token.size;
        match->id = id;
    }
}

// Sets size and id of the match to those of the longest token at its offset that has no more than
// size_max bytes; false without such a token.
static bool find_longest(const struct gi_special *special, struct gi_text text, size_t size_max,
                         struct gi_special_match *match)
{
    const struct gi_sorted_texts *sorted = &special->sorted;
    const struct gi_text rest = gi_text_from(text, match->offset);
    const uint8_t lead = (uint8_t)rest.data[0];
    size_t low = sorted->first[lead], high = sorted->first[lead + 1];
    match->size = 0;
    for (size_t depth = 1; low < high && depth <= size_max; depth++) {
        const bool is_last = high - low == 1;
        for (; low < high && (is_last || gi_sorted_texts_at(sorted, low).size == depth); low++) {
            try_token(special, low, text, size_max, match);
        }
        if (depth == rest.size) {
            break;
        }
        gi_sorted_texts_narrow(sorted, depth, (uint8_t)rest.data[depth], &low, &high);
    }
    return match->size;
}

bool gi_special_find_at(const struct gi_special *special, struct gi_text text,
                        struct gi_special_match match, struct gi_special_matches *matches,
                        struct glinfer_error *err)
{
    return !find_longest(special, text, SIZE_MAX, &match) ||
           GI_ARRAY_PUSH(matches, "the special tokens of a text", err, match);
}

//-- resolve -----------------------------------------------------------------------------------

static bool is_before(const struct gi_special_match *a, const struct gi_special_match *b)
{
    if (a->size != b->size) {
        return a->size > b->size;
    }
    return a->id != b->id ? a->id < b->id : a->offset < b->offset;
}

// Lets the match at i sink in the heap until none below it comes before it.
static void sink_match(struct gi_special_match *heap, size_t count, size_t i)
{
    struct gi_special_match match = heap[i];
    for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_before(&heap[child], &match)) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = match;
}

static int compare_offset(const void *a, const void *b)
{
    const struct gi_special_match *left = a, *right = b;
    return (left->offset > right->offset) - (left->offset < right->offset);
}

// Takes the matches in their order, and in place of one that ends in a match taken before a shorter
// one at its offset. Returns the number of those taken, which are the last of the count matches.
static size_t take_matches(const struct gi_special *special, struct gi_text text,
                           struct gi_special_match *heap, size_t count, uint8_t *is_consumed)
{
    size_t n_heap = count, n_taken = 0;
    for (size_t i = count / 2; i-- > 0;) {
        sink_match(heap, n_heap, i);
    }
    while (n_heap) {
        struct gi_special_match match = heap[0];
        // A match taken before is not shorter, so it covers an end of whatever it overlaps.
        bool can_start = !is_consumed[match.offset];
        bool can_end = !is_consumed[match.offset + match.size - 1];
        if (can_start && !can_end && find_longest(special, text, match.size - 1, &heap[0])) {
            sink_match(heap, n_heap, 0);
            continue;
        }
        heap[0] = heap[--n_heap];
        sink_match(heap, n_heap, 0);
        if (can_start && can_end) {
            memset(is_consumed + match.offset, 1, match.size);
            heap[count - ++n_taken] = match;
        }
    }
    return n_taken;
}

bool gi_special_resolve(const struct gi_special *special, struct gi_text text,
                        struct gi_special_matches *matches, struct glinfer_error *err)
{
    if (!matches->count) {
        return true;
    }
    uint8_t *is_consumed = gi_array_zeroed(text.size, 1, "the special tokens of a text", err);
    if (!is_consumed) {
        return false;
    }
    size_t n = take_matches(special, text, matches->data, matches->count, is_consumed);
    memmove(matches->data, matches->data + matches->count - n, n * sizeof(*matches->data));
    matches->count = n;
    free(is_consumed);
    qsort(matches->data, n, sizeof(*matches->data), compare_offset);
    return true;
}
