// The tokenizer on any vocabulary, texts and conversations: what is created encodes to ids of the
// vocabulary, whose bytes stream out as UTF-8; what is refused comes with a status and a sentence.
//
// The input is a row of records: a byte for the kind, a byte for the size, that many bytes.
#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

#define ITEMS_MAX 256 // of each kind

enum record_kind {
    RECORD_MODEL, // name
    RECORD_PRE,   // name
    RECORD_NAME,  // name
    RECORD_TOKEN, // type, score in two bytes, text
    RECORD_MERGE, // text
    // bos, eos, unk, add_bos, add_eos, add_space_prefix, remove_extra_whitespaces, sep, add_sep
    RECORD_IDS,
    RECORD_TEMPLATE, // Jinja text
    RECORD_CHOICE,   // index of the template to choose
    RECORD_MESSAGE,  // role, content
    RECORD_TEXT,     // flags, text
    RECORD_CHARSMAP, // bytes of the normaliser, which the next such record goes on with
    RECORD_PAIR,     // a reranker's template
    RECORD_STEP, // name, expression and text of a tokenizer.json's step, each but the last ended by
                 // 0
    RECORD_ADDED, // id, rules
    RECORD_RULES, // flags, word_size_max
    RECORD_COUNT,
};

struct input {
    struct gi_vocab vocab;
    struct gi_text tokens[ITEMS_MAX], merges[ITEMS_MAX], texts[ITEMS_MAX], steps[ITEMS_MAX];
    int32_t added[ITEMS_MAX], added_rules[ITEMS_MAX];
    int32_t types[ITEMS_MAX];
    float scores[ITEMS_MAX];
    struct glinfer_message messages[ITEMS_MAX];
    size_t n_texts, n_messages;
    int choice; // -1: the file's own
    char charsmap[4096];
};

static uint8_t byte_at(struct gi_text text, size_t i)
{
    return i < text.size ? (uint8_t)text.data[i] : 0;
}

static struct gi_text skip_bytes(struct gi_text text, size_t n)
{
    n = n < text.size ? n : text.size;
    return (struct gi_text){text.data + n, text.size - n};
}

static void add_token(struct input *input, struct gi_text text)
{
    size_t n = input->vocab.n_tokens;
    if (n < ITEMS_MAX) {
        uint32_t bits = (uint32_t)byte_at(text, 1) << 24 | (uint32_t)byte_at(text, 2) << 16;
        input->types[n] = byte_at(text, 0);
        memcpy(&input->scores[n], &bits, sizeof(bits));
        input->tokens[n] = skip_bytes(text, 3);
        input->vocab.n_tokens++;
    }
}

static void add_message(struct input *input, struct gi_text text)
{
    static const char *const roles[] = {"user", "assistant", "system", "tool"};
    struct gi_text content = skip_bytes(text, 1);
    if (input->n_messages < ITEMS_MAX) {
        char *copy = strndup(content.data, content.size);
        FUZZ_CHECK(copy);
        input->messages[input->n_messages++] =
            (struct glinfer_message){roles[byte_at(text, 0) % 4], copy};
    }
}

static void add_ids(struct gi_vocab *vocab, struct gi_text text)
{
    vocab->bos = (int8_t)byte_at(text, 0);
    vocab->eos = (int8_t)byte_at(text, 1);
    vocab->unk = (int8_t)byte_at(text, 2);
    vocab->add_bos = (int8_t)byte_at(text, 3);
    vocab->add_eos = (int8_t)byte_at(text, 4);
    vocab->add_space_prefix = (int8_t)byte_at(text, 5);
    vocab->remove_extra_whitespaces = (int8_t)byte_at(text, 6);
    vocab->sep = (int8_t)byte_at(text, 7);
    vocab->add_sep = (int8_t)byte_at(text, 8);
}

static void add_charsmap(struct input *input, struct gi_text text)
{
    struct gi_text *map = &input->vocab.charsmap;
    const size_t room = sizeof(input->charsmap) - map->size;
    const size_t n = text.size < room ? text.size : room;
    memcpy(input->charsmap + map->size, text.data, n);
    *map = (struct gi_text){input->charsmap, map->size + n};
}

static void add_step(struct input *input, struct gi_text text)
{
    struct gi_vocab_rules *rules = &input->vocab.rules;
    for (size_t i = 0; i < 3 && rules->n_step_texts < ITEMS_MAX - 3 + i; i++) {
        const char *end = i < 2 && text.size ? memchr(text.data, 0, text.size) : NULL;
        const size_t size = end ? (size_t)(end - text.data) : text.size;
        input->steps[rules->n_step_texts++] = (struct gi_text){text.data, size};
        text = skip_bytes(text, size + 1);
    }
}

static void add_rules(struct input *input, struct gi_text text)
{
    struct gi_vocab_rules *rules = &input->vocab.rules;
    const uint8_t flags = byte_at(text, 0);
    rules->is_present = true;
    rules->ignores_merges = flags & 1;
    rules->has_byte_fallback = flags & 2;
    rules->fuses_unknown = flags & 4;
    rules->word_size_max = byte_at(text, 1);
}

static void add_added(struct input *input, struct gi_text text)
{
    struct gi_vocab_rules *rules = &input->vocab.rules;
    if (rules->n_added < ITEMS_MAX) {
        input->added[rules->n_added] = (int8_t)byte_at(text, 0);
        input->added_rules[rules->n_added++] = byte_at(text, 1);
    }
}

static void add_record(struct input *input, enum record_kind kind, struct gi_text text)
{
    struct gi_vocab *vocab = &input->vocab;
    switch (kind) {
    case RECORD_MODEL:
        vocab->model = text;
        break;
    case RECORD_PRE:
        vocab->pre = text;
        break;
    case RECORD_NAME:
        vocab->name = text;
        break;
    case RECORD_TOKEN:
        add_token(input, text);
        break;
    case RECORD_MERGE:
        if (vocab->n_merges < ITEMS_MAX) {
            input->merges[vocab->n_merges++] = text;
        }
        break;
    case RECORD_IDS:
        add_ids(vocab, text);
        break;
    case RECORD_TEMPLATE:
        vocab->chat_template = text;
        break;
    case RECORD_CHOICE:
        input->choice = byte_at(text, 0);
        break;
    case RECORD_CHARSMAP:
        add_charsmap(input, text);
        break;
    case RECORD_PAIR:
        vocab->pair_template = text;
        break;
    case RECORD_STEP:
        add_step(input, text);
        break;
    case RECORD_ADDED:
        add_added(input, text);
        break;
    case RECORD_RULES:
        add_rules(input, text);
        break;
    case RECORD_MESSAGE:
        add_message(input, text);
        break;
    default:
        if (input->n_texts < ITEMS_MAX) {
            input->texts[input->n_texts++] = text;
        }
        break;
    }
}

static void init_input(struct input *input, const uint8_t *data, size_t size)
{
    memset(input, 0, sizeof(*input));
    input->choice = -1;
    input->vocab.tokens = input->tokens;
    input->vocab.types = input->types;
    input->vocab.scores = input->scores;
    input->vocab.merges = input->merges;
    input->vocab.rules.steps = input->steps;
    input->vocab.rules.added = input->added;
    input->vocab.rules.added_rules = input->added_rules;
    add_ids(&input->vocab, (struct gi_text){"\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9});
    input->vocab.eot = input->vocab.eom = input->vocab.pad = GI_NO_TOKEN;
    struct gi_text rest = {(const char *)data, size};
    while (rest.size >= 2) {
        enum record_kind kind = (enum record_kind)(byte_at(rest, 0) % RECORD_COUNT);
        struct gi_text record = skip_bytes(rest, 2);
        size_t wanted = byte_at(rest, 1);
        rest = skip_bytes(record, wanted);
        record.size -= rest.size;
        add_record(input, kind, record);
    }
}

static void finish_input(struct input *input)
{
    for (size_t i = 0; i < input->n_messages; i++) {
        free((char *)input->messages[i].content);
    }
}

static void check_error(const struct glinfer_error *err)
{
    FUZZ_CHECK(err->status != GLINFER_STATUS_OK && err->message[0]);
}

// Stops at invalid UTF-8 (Unicode, table 3-7).
static void check_utf8(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        uint8_t lead = bytes[i++];
        size_t n = lead < 0x80 ? 0 : lead < 0xc2 ? 9 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        FUZZ_CHECK(n <= size - i && lead < 0xf5);
        uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        FUZZ_CHECK(!n || (bytes[i] >= low && bytes[i] <= high));
        for (size_t end = i + n; i < end; i++) {
            FUZZ_CHECK((bytes[i] & 0xc0) == 0x80);
        }
    }
}

static void check_ids(const struct gi_tokenizer *tokenizer, const struct gi_ids *ids)
{
    struct gi_utf8_stream stream = {0};
    for (size_t i = 0; i < ids->count; i++) {
        FUZZ_CHECK(ids->data[i] >= 0 && (size_t)ids->data[i] < gi_tokenizer_size(tokenizer));
        struct gi_text bytes = gi_tokenizer_bytes(tokenizer, ids->data[i]);
        char out[3 * (255 + 4)];
        FUZZ_CHECK(bytes.size <= 255);
        check_utf8((uint8_t *)out, gi_utf8_stream_push(&stream, bytes.data, bytes.size, out));
    }
}

static void encode_texts(const struct gi_tokenizer *tokenizer, const struct input *input)
{
    for (size_t i = 0; i < input->n_texts; i++) {
        struct gi_ids ids = {0};
        struct glinfer_error err = {0};
        uint8_t flags = byte_at(input->texts[i], 0);
        bool is_done = gi_tokenizer_encode(tokenizer, skip_bytes(input->texts[i], 1), flags & 1,
                                           flags & 2, &ids, &err);
        if (!is_done) { // an expression that takes too many steps
            FUZZ_CHECK(input->vocab.rules.is_present && !ids.count);
            check_error(&err);
        }
        check_ids(tokenizer, &ids);
        ids.count = 0;
        is_done = gi_tokenizer_encode_pair(tokenizer, input->texts[0], input->texts[i], &ids, &err);
        if (!is_done) { // a template without both places, or such an expression
            FUZZ_CHECK(!ids.count);
            FUZZ_CHECK(input->vocab.pair_template.size > 0 || input->vocab.rules.is_present);
            check_error(&err);
        }
        check_ids(tokenizer, &ids);
        gi_ids_finish(&ids);
    }
}

static void encode_chat(struct gi_tokenizer *tokenizer, const struct input *input)
{
    struct gi_ids ids = {0};
    struct glinfer_error err = {0};
    const char *name = input->choice < 0 ? NULL : gi_tokenizer_template_at((size_t)input->choice);
    FUZZ_CHECK(!name || gi_tokenizer_set_template(tokenizer, name, &err));
    if (!gi_tokenizer_encode_chat(tokenizer, input->messages, input->n_messages,
                                  (enum glinfer_chat_end)(input->n_messages % 3), &ids, &err)) {
        check_error(&err);
        FUZZ_CHECK(!ids.count);
    }
    check_ids(tokenizer, &ids);
    gi_ids_finish(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input input;
    struct glinfer_error err = {0};
    init_input(&input, data, size);
    struct gi_tokenizer *tokenizer = gi_tokenizer_create(&input.vocab, &err);
    if (tokenizer) {
        int32_t stop_ids[16];
        size_t n = gi_tokenizer_stop_ids(tokenizer, stop_ids);
        check_ids(tokenizer, &(struct gi_ids){stop_ids, n, n});
        encode_texts(tokenizer, &input);
        encode_chat(tokenizer, &input);
    } else {
        check_error(&err);
    }
    gi_tokenizer_destroy(tokenizer);
    finish_input(&input);
    return 0;
}
