#include "tokenizer/vocab/pretokenizer.h"

#include "base/array.h"
#include "tokenizer/steps/regex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//-- table -------------------------------------------------------------------------------------

// Unicode's White_Space, to stand in a class: \s of PCRE2 has U+180E besides.
#define SPACE                                                                                      \
    "\\x{09}-\\x{0d} \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"        \
    "\\x{205f}\\x{3000}"
#define CONTRACTIONS "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
// Matches all spaces before a word but the last, or all that end the text.
#define SPACES_BUT_LAST "[" SPACE "]+(?![^" SPACE "])"
#define SPACES          SPACES_BUT_LAST "|[" SPACE "]+"
#define LINE_ENDS       "[" SPACE "]*[\\r\\n]+"

#define GPT2                                                                                       \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+|" SPACES_BUT_LAST
#define WORD           "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SIGNS          " ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n]*"
#define SIGNS_OR_SLASH " ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n/]*"
#define LLAMA3         CONTRACTIONS "|" WORD "|\\p{N}{1,3}|" SIGNS "|" LINE_ENDS "|" SPACES
#define QWEN2          CONTRACTIONS "|" WORD "|\\p{N}|" SIGNS "|" LINE_ENDS "|" SPACES
#define QWEN35                                                                                     \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^" SPACE                        \
                 "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINE_ENDS "|" SPACES
#define SEED_CODER                                                                                 \
    CONTRACTIONS "|" WORD "|\\p{N}| ?[^" SPACE "\\p{L}\\p{N}\\r\\n]+|" LINE_ENDS "|" SPACES
#define BAILING                                                                                    \
    "'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|" WORD "|\\p{N}|" SIGNS "|[" SPACE                 \
    "]*[\\r\\n]|" SPACES
#define MINICPM5 CONTRACTIONS "|" WORD "|\\p{N}+|" SIGNS "|" LINE_ENDS "|" SPACES
// Letters but a-z, letters but A-Z: runs in which the case changes once.
#define UPPER "[^\\P{L}a-z]"
#define LOWER "[^\\P{L}A-Z]"
#define CASED(suffix)                                                                              \
    CASED_AS(UPPER "*" LOWER "+", suffix) "|" CASED_AS(UPPER "+" LOWER "*", suffix)
#define CASED_AS(word, suffix) "[^\\r\\n\\p{L}\\p{N}]?" word suffix
#define TEKKEN                 CASED("") "|\\p{N}|" SIGNS_OR_SLASH "|" LINE_ENDS "|" SPACES
#define GPT4O                                                                                      \
    CASED("(?:" CONTRACTIONS ")?")                                                                 \
    "|\\p{N}{1,3}|" SIGNS_OR_SLASH "|" LINE_ENDS "|" SPACES
#define DEEPSEEK3                                                                                  \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"                                        \
    "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" LINE_ENDS           \
    "|" SPACES
#define EXAONE_MOE                                                                                 \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^" SPACE  \
                 "\\p{L}\\p{N}]+[\\r\\n/]?|[" SPACE "]*[\\r\\n]|" SPACES
#define UFAKZEKA      WORD "|\\p{N}|" SIGNS "|" LINE_ENDS "|" SPACES
#define ENDING(count) "[" SPACE "]{" count "}(?![^" SPACE "])"
#define JAIS2                                                                                      \
    CONTRACTIONS                                                                                   \
    "|" WORD "|\\p{N}{1,3}|" SIGNS "|" LINE_ENDS                                                   \
    "|" ENDING("512") "|" ENDING("256") "|" ENDING("128") "|" ENDING("64") "|" ENDING(             \
        "32") "|" ENDING("16") "|" ENDING("8") "|" ENDING("4") "|" ENDING("1,2") "|[" SPACE "]"
#define SPARK                                                                                      \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"                                        \
    "|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|[\\r\\n]|" SPACES
#define GRANITE97                                                                                  \
    CASED_AS("(?:" UPPER "|\\p{M})*(?:" LOWER "|\\p{M})+", "(?:" CONTRACTIONS ")?")                \
    "|" CASED_AS("(?:" UPPER "|\\p{M})+(?:" LOWER "|\\p{M})*",                                     \
                 "(?:" CONTRACTIONS ")?") "|\\p{N}{1,3}|" SIGNS_OR_SLASH "|" LINE_ENDS "|" SPACES
// Runs of digits in threes from the right. As in llama.cpp text before a run belongs to its first
// piece, which the expressions after this one divide.
#define DIGITS_WITH_TEXT "\\P{N}*+\\p{N}+"
#define THREES           "^\\P{N}*+\\p{N}{1,2}(?=(?:\\p{N}{3})*+$)|^\\P{N}*+\\p{N}{3}|\\p{N}{3}"
// The same of ASCII's digits within a run of numbers, each piece with the other numbers that
// follow.
#define MORE_THREES "(?=(?:[0-9]{3})*+(?![0-9]))"
#define LEADING     "(?:[0-9]{1,2}" MORE_THREES ")?+"
#define OTHERS      "(?:[^0-9]++" LEADING ")*+"
#define SUPERBPE                                                                                   \
    "(?<![0-9])[0-9]{3}" MORE_THREES OTHERS "|(?<=[0-9])[0-9]{3}" OTHERS "|^" LEADING OTHERS
#define MARKED_WORD "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+(?:" CONTRACTIONS ")?"
#define TINY_AYA    MARKED_WORD "|\\p{N}{1,3}|" SIGNS_OR_SLASH "|" LINE_ENDS "|" SPACES
#define YOUTU_SCRIPTS                                                                              \
    "[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+"                                                    \
    "|[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}\\x{2019}\\x{2014}\\x{ff1a}-\\x{ff1b}"         \
    "\\x{ff0c}\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+|[\\x{3105}-\\x{312f}]+|" CJK
#define YOUTU MARKED_WORD "|\\p{N}|" SIGNS_OR_SLASH "|" LINE_ENDS "|" SPACES
#define HAN                                                                                        \
    "\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{f900}-\\x{faff}\\x{20000}-\\x{2a6df}"               \
    "\\x{2a700}-\\x{2ebef}\\x{2f800}-\\x{2fa1f}"
#define KIMI_K2                                                                                    \
    "[" HAN "]+|[^\\r\\n\\p{L}\\p{N}]?[^\\P{L}" HAN "]+(?:" CONTRACTIONS ")?|\\p{N}{1,3}|" SIGNS   \
    "|" LINE_ENDS "|" SPACES
#define AFMOE_SCRIPTS                                                                              \
    "[\\x{e40}-\\x{eff}\\x{1000}-\\x{109f}\\x{1100}-\\x{11ff}\\x{1780}-\\x{17ff}"                  \
    "\\x{2f00}-\\x{2fdf}\\x{3040}-\\x{30ff}\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{faff}"                 \
    "\\x{ff65}-\\x{ff9f}]+"
#define SENTENCE_SIGNS                                                                             \
    " ?[^(" SPACE "|.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c})]+"
#define WIDE_SIGNS                                                                                 \
    "!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3001}\\x{3002}"
// [SPACE]+$, which alone would try a long run that ends no text at each of its spaces.
#define ENDING_SPACES "(?<![" SPACE "])[" SPACE "]++$"
// U+0800 to the end of Han, and Hangul, without the spaces among them.
#define BROAD_CJK                                                                                  \
    "[\\x{800}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"                 \
    "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{9fa5}\\x{ac00}-\\x{d7ff}]+"
#define CJK "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+"
// Letters of Latin, Greek, Cyrillic and other scripts that have case.
#define CASED_LETTERS                                                                              \
    "A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}"                 \
    "\\x{1c4}-\\x{293}\\x{295}-\\x{2af}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}"         \
    "\\x{37f}\\x{386}\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}\\x{3a3}-\\x{3f5}"                  \
    "\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}"                       \
    "\\x{13a0}-\\x{13f5}\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}"                 \
    "\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}"                 \
    "\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}\\x{1f50}-\\x{1f57}"                 \
    "\\x{1f59}\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}"         \
    "\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}"                           \
    "\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}"                 \
    "\\x{2102}\\x{2107}\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}"          \
    "\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}"                  \
    "\\x{2145}-\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}"         \
    "\\x{2ceb}-\\x{2cee}\\x{2cf2}\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}"                  \
    "\\x{a722}-\\x{a76f}\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}\\x{ab70}-\\x{abbf}"                 \
    "\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}"                 \
    "\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}"         \
    "\\x{10cc0}-\\x{10cf2}\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"

#define NAMES_MAX   20
#define REGEXES_MAX 6

struct pre_row {
    const char *names[NAMES_MAX];
    const char *regexes[REGEXES_MAX];
    const char *stripped; // or NULL
    bool ignores_merges, adds_bos, adds_sep;
};

// The names and what they stand for are those of src/llama-vocab.cpp of llama.cpp.
// clang-format off
static const struct pre_row pre_rows[] = {
    {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b",
               "mellum2"},
     .regexes = {"\\p{N}", GPT2}},
    {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0",
               "lfm2", "jina-v5-nano"},
     .regexes = {LLAMA3}, .ignores_merges = true, .adds_bos = true},
    {.names = {"smaug-bpe", "dbrx", "chatglm-bpe"},
     .regexes = {LLAMA3}},
    {.names = {"glm4", "glm5"},
     .regexes = {LLAMA3}, .ignores_merges = true},
    {.names = {"qwen2", "deepseek-r1-qwen", "megrez", "kormo", "stablelm2", "hunyuan", "solar-open",
               "grok-2", "f2llmv2"},
     .regexes = {QWEN2}},
    {.names = {"qwen35"},
     .regexes = {QWEN35}},
    {.names = {"gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais", "exaone4", "trillion",
               "granite-docling", "gigachat", "a.x-4.0", "mellum", "modern-bert", "jina-de",
               "jina-es", "jina-v2-de", "jina-v2-es"},
     .regexes = {GPT2}},
    {.names = {"jina-v1-en", "jina-v2-code", "roberta-bpe"},
     .regexes = {GPT2}, .adds_sep = true},
    {.names = {"default"},
     .regexes = {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {.names = {"falcon"},
     .regexes = {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {.names = {"deepseek-llm"},
     .regexes = {"[\\r\\n]", "[" SPACE "]?[" CASED_LETTERS "]+", "[" SPACE "]?[" WIDE_SIGNS "]+",
                 ENDING_SPACES, BROAD_CJK, "\\p{N}+"}},
    {.names = {"deepseek-coder"},
     .regexes = {"[\\r\\n]", "[" SPACE "]?\\p{L}+", "[" SPACE "]?\\p{P}+", BROAD_CJK, "\\p{N}"}},
    {.names = {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
     .regexes = {"\\p{N}{1,3}", CJK, DEEPSEEK3}},
    {.names = {"tekken"},
     .regexes = {TEKKEN}, .ignores_merges = true, .adds_bos = true},
    {.names = {"gpt-4o", "llama4", "kanana2", "minimax-m2", "talkie"},
     .regexes = {GPT4O}},
    {.names = {"bailingmoe", "bailingmoe2", "llada-moe"},
     .regexes = {BAILING}},
    {.names = {"seed-coder"},
     .regexes = {SEED_CODER}},
    {.names = {"minicpm5"},
     .regexes = {"\\p{N}{1,3}", MINICPM5}, .ignores_merges = true},
    {.names = {"exaone-moe"},
     .regexes = {EXAONE_MOE}},
    {.names = {"ufakzeka"},
     .regexes = {UFAKZEKA}},
    {.names = {"laguna"},
     .regexes = {"[^\\n]+|[\\n]+", QWEN2}},
    {.names = {"jais-2"},
     .regexes = {JAIS2}},
    {.names = {"spark2_5"},
     .regexes = {"\\p{N}{1,3}", CJK, SPARK, "\\p{N}"}},
    {.names = {"granite-embed-multi-97m"},
     .regexes = {GRANITE97}, .ignores_merges = true},
    {.names = {"tiny_aya", "cohere2moe"},
     .regexes = {DIGITS_WITH_TEXT, THREES, TINY_AYA}},
    {.names = {"afmoe"},
     .regexes = {DIGITS_WITH_TEXT, THREES, AFMOE_SCRIPTS, DEEPSEEK3}},
    {.names = {"superbpe"},
     .regexes = {"\\p{N}+", SUPERBPE}},
    {.names = {"youtu"},
     .regexes = {YOUTU_SCRIPTS, YOUTU}, .ignores_merges = true},
    {.names = {"kimi-k2"},
     .regexes = {KIMI_K2}},
    {.names = {"chameleon"},
     .regexes = {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}",
                 "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
     .adds_bos = true},
    {.names = {"bloom", "poro-chat", "gpt3-finnish"},
     .regexes = {SENTENCE_SIGNS}},
    {.names = {"viking"},
     .regexes = {SENTENCE_SIGNS, "\\p{N}"}},
};
// clang-format on

static const struct pre_row wordpiece_row = {
    .names = {"bert"},
    .regexes = {" ", "[\\p{P}$+<=>^`|~\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{f900}-\\x{faff}"
                     "\\x{20000}-\\x{2a6df}\\x{2a700}-\\x{2b73f}\\x{2b740}-\\x{2b81f}"
                     "\\x{2b920}-\\x{2ceaf}\\x{2f800}-\\x{2fa1f}]"},
    .stripped = "[\\p{Cc}\\p{Cf}\\p{Co}\\p{M}]+",
};

#define N_PRE_ROWS (sizeof(pre_rows) / sizeof(pre_rows[0]))

struct gi_pretokenizer {
    const struct pre_row *row;
    const char *name; // the one of row->names that was asked for
    struct gi_regex *regexes[REGEXES_MAX];
    size_t n_regexes;
    struct gi_regex *stripped; // of row->stripped, or NULL
};

//-- create ------------------------------------------------------------------------------------

static bool refuse_pre(struct gi_text pre, struct glinfer_error *err)
{
    char known[768] = "";
    size_t n = 0;
    for (size_t r = 0; r < N_PRE_ROWS; r++) {
        for (size_t i = 0; i < NAMES_MAX && pre_rows[r].names[i]; i++) {
            const size_t size = strlen(pre_rows[r].names[i]) + 2;
            n += n + size < sizeof(known)
                     ? (size_t)snprintf(known + n, size + 1, "%s, ", pre_rows[r].names[i])
                     : 0;
        }
    }
    return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                        "the pre-tokenizer '%.*s' (tokenizer.ggml.pre) is not supported; these "
                        "are: %sand others",
                        (int)(pre.size < 64 ? pre.size : 64), pre.data, known);
}

static struct gi_pretokenizer *create(const struct pre_row *row, const char *name,
                                      struct glinfer_error *err)
{
    struct gi_pretokenizer *made = gi_array_zeroed(1, sizeof(*made), "a pre-tokenizer", err);
    if (!made) {
        return NULL;
    }
    made->row = row;
    made->name = name;
    bool is_ok = true;
    for (size_t i = 0; is_ok && i < REGEXES_MAX && row->regexes[i]; i++) {
        made->regexes[i] = gi_regex_create(gi_text_of(row->regexes[i]), GI_REGEX_OURS, name, err);
        is_ok = made->regexes[i];
        made->n_regexes += is_ok;
    }
    if (is_ok && row->stripped) {
        made->stripped = gi_regex_create(gi_text_of(row->stripped), GI_REGEX_OURS, name, err);
        is_ok = made->stripped;
    }
    if (!is_ok) {
        gi_pretokenizer_destroy(made);
        return NULL;
    }
    return made;
}

struct gi_pretokenizer *gi_pretokenizer_create(struct gi_text pre, struct glinfer_error *err)
{
    pre = pre.size ? pre : gi_text_of("default");
    for (size_t r = 0; r < N_PRE_ROWS; r++) {
        for (size_t i = 0; i < NAMES_MAX && pre_rows[r].names[i]; i++) {
            if (gi_text_is(pre, pre_rows[r].names[i])) {
                return create(&pre_rows[r], pre_rows[r].names[i], err);
            }
        }
    }
    refuse_pre(pre, err);
    return NULL;
}

struct gi_pretokenizer *gi_pretokenizer_create_wordpiece(struct glinfer_error *err)
{
    return create(&wordpiece_row, wordpiece_row.names[0], err);
}

void gi_pretokenizer_destroy(struct gi_pretokenizer *pretokenizer)
{
    if (!pretokenizer) {
        return;
    }
    for (size_t i = 0; i < pretokenizer->n_regexes; i++) {
        gi_regex_destroy(pretokenizer->regexes[i]);
    }
    gi_regex_destroy(pretokenizer->stripped);
    free(pretokenizer);
}

const char *gi_pretokenizer_name(const struct gi_pretokenizer *pretokenizer)
{
    return pretokenizer->name;
}

bool gi_pretokenizer_ignores_merges(const struct gi_pretokenizer *pretokenizer)
{
    return pretokenizer->row->ignores_merges;
}

bool gi_pretokenizer_adds_bos(const struct gi_pretokenizer *pretokenizer)
{
    return pretokenizer->row->adds_bos;
}

bool gi_pretokenizer_adds_sep(const struct gi_pretokenizer *pretokenizer)
{
    return pretokenizer->row->adds_sep;
}

//-- split -------------------------------------------------------------------------------------

static bool push_end(struct gi_word_ends *ends, size_t end, struct glinfer_error *err)
{
    return GI_ARRAY_PUSH(ends, "the words of a text", err, end);
}

// Appends the ends, from the start of the text on, of what the expression matches in the piece at
// offset and of what lies between the matches.
static bool split_piece(const struct gi_matcher *matcher, const struct gi_regex *regex,
                        struct gi_text piece, size_t offset, struct gi_word_ends *ends,
                        struct glinfer_error *err)
{
    size_t done = 0;
    while (done < piece.size) {
        bool found;
        struct gi_span span;
        if (!gi_regex_find(regex, matcher, piece, done, &span, &found, err)) {
            return false;
        }
        if (!found || span.end == span.begin) {
            return push_end(ends, offset + piece.size, err);
        }
        if ((span.begin > done && !push_end(ends, offset + span.begin, err)) ||
            !push_end(ends, offset + span.end, err)) {
            return false;
        }
        done = span.end;
    }
    return true;
}

static bool split_pieces(const struct gi_matcher *matcher, const struct gi_regex *regex,
                         struct gi_text text, const struct gi_word_ends *pieces,
                         struct gi_word_ends *ends, struct glinfer_error *err)
{
    size_t start = 0;
    ends->count = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        struct gi_text piece = {text.data + start, pieces->data[i] - start};
        if (!split_piece(matcher, regex, piece, start, ends, err)) {
            return false;
        }
        start = pieces->data[i];
    }
    return true;
}

bool gi_pretokenizer_split(const struct gi_pretokenizer *pretokenizer, struct gi_text text,
                           struct gi_word_ends *ends, struct glinfer_error *err)
{
    ends->count = 0;
    if (!text.size) {
        return true;
    }
    struct gi_matcher matcher;
    if (!gi_matcher_init(&matcher, GI_REGEX_OURS, err)) {
        return false;
    }
    struct gi_word_ends pieces = {0};
    bool is_done = push_end(ends, text.size, err);
    for (size_t i = 0; is_done && i < pretokenizer->n_regexes; i++) {
        struct gi_word_ends swapped = pieces;
        pieces = *ends;
        *ends = swapped;
        is_done = split_pieces(&matcher, pretokenizer->regexes[i], text, &pieces, ends, err);
    }
    free(pieces.data);
    gi_matcher_finish(&matcher);
    return is_done;
}

bool gi_pretokenizer_strip(const struct gi_pretokenizer *pretokenizer, char *text, size_t *size,
                           struct glinfer_error *err)
{
    struct gi_matcher matcher;
    size_t n = 0, at = 0;
    bool found, is_ok = true;
    if (!gi_matcher_init(&matcher, GI_REGEX_OURS, err)) {
        return false;
    }
    while (is_ok && at < *size) {
        struct gi_span span;
        is_ok = gi_regex_find(pretokenizer->stripped, &matcher, (struct gi_text){text, *size}, at,
                              &span, &found, err);
        const size_t end = found ? span.begin : *size;
        memmove(text + n, text + at, end - at);
        n += end - at;
        at = found ? span.end : *size;
    }
    gi_matcher_finish(&matcher);
    *size = n;
    return is_ok;
}
