#include "tokenizer/pair.h"

#include "base/array.h"
#include "tokenizer/tokenizer_impl.h"

#include <stdlib.h>

#define QUERY "{query}"
#define TEXT  "{document}"

// Returns the place of a name in a template; NULL unless it occurs once.
static const char *find_once(struct gi_text template, const char *name)
{
    const char *at = gi_text_find(template, name);
    const size_t past = at ? (size_t)(at - template.data) + strlen(name) : 0;
    return at && !gi_text_find(gi_text_from(template, past), name) ? at : NULL;
}

// Sets what stands around the names, which are at those offsets.
static void cut_template(struct gi_pair_template *pair, struct gi_text whole, size_t query_offset,
                         size_t text_offset)
{
    pair->is_text_first = text_offset < query_offset;
    const size_t first = pair->is_text_first ? text_offset : query_offset;
    const size_t second = pair->is_text_first ? query_offset : text_offset;
    const size_t first_end = first + strlen(pair->is_text_first ? TEXT : QUERY);
    const size_t second_end = second + strlen(pair->is_text_first ? QUERY : TEXT);
    pair->before = (struct gi_text){whole.data, first};
    pair->between = (struct gi_text){whole.data + first_end, second - first_end};
    pair->after = gi_text_from(whole, second_end);
}

bool gi_pair_template_init(struct gi_pair_template *pair, struct gi_text file,
                           struct glinfer_error *err)
{
    *pair = (struct gi_pair_template){0};
    if (file.size == 0) {
        return true;
    }
    const char *query = find_once(file, QUERY), *text = find_once(file, TEXT);
    if (!query || !text) {
        pair->is_broken = true;
        return true;
    }
    pair->bytes = gi_array_zeroed(file.size, 1, "a template", err);
    if (!pair->bytes) {
        return false;
    }
    memcpy(pair->bytes, file.data, file.size);
    cut_template(pair, (struct gi_text){pair->bytes, file.size}, (size_t)(query - file.data),
                 (size_t)(text - file.data));
    return true;
}

void gi_pair_template_finish(struct gi_pair_template *pair)
{
    free(pair->bytes);
    *pair = (struct gi_pair_template){0};
}

// Encodes the template with both in their places, where they are data.
static void encode_template(struct gi_encoder *encoder, struct gi_text query, struct gi_text text)
{
    const struct gi_pair_template *pair = &encoder->tokenizer->pair;
    struct gi_segment all[] = {
        {pair->before, true, false},  {pair->is_text_first ? text : query, false, false},
        {pair->between, true, false}, {pair->is_text_first ? query : text, false, false},
        {pair->after, true, false},
    };
    gi_encode_segments(encoder, &(struct gi_segments){all, 5, 5}, false, false);
}

bool gi_tokenizer_encode_pair(const struct gi_tokenizer *tokenizer, struct gi_text query,
                              struct gi_text text, struct gi_ids *ids, struct glinfer_error *err)
{
    struct gi_segment both[] = {{query, false, false}, {text, false, false}};
    struct gi_encoder encoder = {tokenizer, ids, err, false};
    const size_t count = ids->count;
    if (tokenizer->pair.is_broken) {
        return gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                            "the file's template for reranking (tokenizer.chat_template.rerank) "
                            "does not have both " QUERY " and " TEXT " once");
    }
    if (tokenizer->pair.bytes) {
        encode_template(&encoder, query, text);
    } else {
        gi_encode_segments(&encoder, &(struct gi_segments){&both[0], 1, 1}, true, true);
        gi_encode_id(&encoder, tokenizer->is_sep_added ? tokenizer->sep : GI_NO_TOKEN);
        gi_encode_segments(&encoder, &(struct gi_segments){&both[1], 1, 1}, false, true);
    }
    return gi_encoder_end(&encoder, count);
}
