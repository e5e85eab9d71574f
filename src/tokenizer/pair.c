// A query and a text, as a reranker reads them.
#include "base/array.h"
#include "tokenizer/tokenizer_impl.h"

#include <stdlib.h>

// A place in a template, and what comes there.
struct place {
    const char *at;
    size_t size; // of the name
    struct gi_text content;
};

// Finds the first place of a template; the end of the template if there is none.
static struct place find_place(struct gi_text rest, struct gi_text query, struct gi_text text)
{
    static const char *const names[] = {"{query}", "{document}"};
    struct place first = {.at = rest.data + rest.size};
    for (int i = 0; i < 2; i++) {
        const char *at = gi_text_find(rest, names[i]);
        if (at && at < first.at) {
            first = (struct place){at, strlen(names[i]), i == 0 ? query : text};
        }
    }
    return first;
}

// Encodes the template with both in their places, where they are data.
static bool encode_template(const struct gi_tokenizer *tokenizer, struct gi_text query,
                            struct gi_text text, struct gi_ids *ids, struct glinfer_error *err)
{
    struct gi_segments segments = {0};
    struct gi_text rest = {tokenizer->pair_template, tokenizer->pair_template_size};
    bool ok = true;
    while (ok && rest.size > 0) {
        const struct place place = find_place(rest, query, text);
        const size_t size = (size_t)(place.at - rest.data);
        const struct gi_segment before = {
            .text = {rest.data, size},
              .parse_special = true
        };
        const struct gi_segment content = {.text = place.content};
        ok = GI_ARRAY_PUSH(&segments, "a template", err, before) &&
             GI_ARRAY_PUSH(&segments, "a template", err, content);
        rest = gi_text_from(rest, size + place.size);
    }
    ok = ok && gi_tokenizer_encode_segments(tokenizer, &segments, false, false, ids, err);
    free(segments.data);
    return ok;
}

bool gi_tokenizer_encode_pair(const struct gi_tokenizer *tokenizer, struct gi_text query,
                              struct gi_text text, struct gi_ids *ids, struct glinfer_error *err)
{
    struct gi_segment both[] = {
        {query, false},
        {text,  false}
    };
    const struct gi_segments first = {&both[0], 1, 1}, second = {&both[1], 1, 1};
    const size_t count = ids->count;
    if (tokenizer->pair_template_size > 0) {
        return encode_template(tokenizer, query, text, ids, err);
    }
    const bool ok = gi_tokenizer_encode_segments(tokenizer, &first, true, true, ids, err) &&
                    (!tokenizer->is_sep_added || gi_ids_push(ids, tokenizer->sep, err)) &&
                    gi_tokenizer_encode_segments(tokenizer, &second, false, true, ids, err);
    ids->count = ok ? ids->count : count;
    return ok;
}
