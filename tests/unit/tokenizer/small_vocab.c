#include "tests/unit/tokenizer/small_vocab.h"

#include "tests/unit/cmocka_test.h"

static const char *const merges[] = {"h e",      "l l", "he ll",        "hell o",
                                     "\u0120 w", "1 2", "\u0120 \u0120"};

static const struct {
    const char *text;
    int32_t type;
} special[] = {
    {"<|endoftext|>", GI_TOKEN_TYPE_CONTROL},   {"<|im_start|>", GI_TOKEN_TYPE_CONTROL},
    {"<|im_end|>", GI_TOKEN_TYPE_CONTROL},      {"<tool>", GI_TOKEN_TYPE_USER_DEFINED},
    {"<tool>call", GI_TOKEN_TYPE_USER_DEFINED}, {"<unk>", GI_TOKEN_TYPE_UNKNOWN},
    {"<unused>", GI_TOKEN_TYPE_UNUSED},         {"<0x0A>", GI_TOKEN_TYPE_BYTE},
};

static const char *const merged[] = {"he", "ll", "hell", "hello", "\u0120w", "12", "\u0120\u0120"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct gi_text small_text(const char *text)
{
    return (struct gi_text){text, strlen(text)};
}

// GPT-2's table, written the way its authors describe it: printable bytes are themselves, the rest
// are numbered from 256.
static void spell_bytes(struct small_vocab *small)
{
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; byte++) {
        bool is_printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
                            (byte >= 0xae && byte <= 0xff);
        unsigned code = is_printable ? byte : next++;
        char *text = small->byte_texts[byte];
        size_t size = code < 0x80 ? 1 : 2;
        text[0] = (char)(code < 0x80 ? code : 0xc0 | code >> 6);
        text[1] = (char)(code < 0x80 ? 0 : 0x80 | (code & 0x3f));
        small->tokens[byte] = (struct gi_text){text, size};
    }
}

void small_vocab_init(struct small_vocab *small)
{
    memset(small, 0, sizeof(*small));
    spell_bytes(small);
    for (size_t i = 0; i < SMALL_COUNT; i++) {
        small->types[i] = GI_TOKEN_TYPE_NORMAL;
    }
    for (size_t i = 0; i < COUNT_OF(merges); i++) {
        small->merges[i] = small_text(merges[i]);
        small->tokens[SMALL_HE + i] = small_text(merged[i]);
    }
    for (size_t i = 0; i < COUNT_OF(special); i++) {
        small->tokens[SMALL_END + i] = small_text(special[i].text);
        small->types[SMALL_END + i] = special[i].type;
    }
    small->vocab = (struct gi_vocab){
        .model = small_text("gpt2"),
        .pre = small_text("smollm"),
        .tokens = small->tokens,
        .types = small->types,
        .n_tokens = SMALL_COUNT,
        .merges = small->merges,
        .n_merges = COUNT_OF(merges),
        .bos = GI_NO_TOKEN,
        .eos = SMALL_END,
        .eot = GI_NO_TOKEN,
        .eom = GI_NO_TOKEN,
        .unk = GI_NO_TOKEN,
        .pad = GI_NO_TOKEN,
        .add_bos = -1,
        .add_eos = -1,
        .add_space_prefix = -1,
        .chat_template = small_text("{{ '<|im_start|>' + role + '<|im_end|>' }}"),
    };
}

void small_vocab_set_bos(struct small_vocab *small)
{
    small->vocab.bos = SMALL_TOOL;
    small->vocab.add_bos = 1;
}

bool small_vocab_begins_once(const struct gi_tokenizer *tokenizer,
                             const struct glinfer_message *message)
{
    struct gi_ids ids = {0};
    const bool is_once =
        gi_tokenizer_encode_chat(tokenizer, message, 1, GLINFER_CHAT_END_ANSWER, &ids, NULL) &&
        ids.count > 1 && ids.data[0] == SMALL_TOOL && ids.data[1] != SMALL_TOOL;
    gi_ids_finish(&ids);
    return is_once;
}

struct gi_tokenizer *small_vocab_create(const char *template)
{
    struct small_vocab small;
    small_vocab_init(&small);
    small.vocab.chat_template = small_text(template);
    struct gi_tokenizer *tokenizer = must_do(gi_tokenizer_create(&small.vocab, &err));
    return tokenizer;
}
