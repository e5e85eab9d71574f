#include "tests/unit/tokenizer/small_spm.h"

#include <stdio.h>

static const struct {
    int id;
    const char *text;
    int32_t type;
    float score;
} pieces[] = {
    {SPM_UNKNOWN, "<unk>", GI_TOKEN_TYPE_UNKNOWN, 0},
    {SPM_BOS, "<s>", GI_TOKEN_TYPE_CONTROL, 0},
    {SPM_EOS, "</s>", GI_TOKEN_TYPE_CONTROL, 0},
    {SPM_SPACE, "\u2581", GI_TOKEN_TYPE_NORMAL, -20},
    {SPM_H, "h", GI_TOKEN_TYPE_NORMAL, -21},
    {SPM_E, "e", GI_TOKEN_TYPE_NORMAL, -22},
    {SPM_L, "l", GI_TOKEN_TYPE_NORMAL, -23},
    {SPM_O, "o", GI_TOKEN_TYPE_NORMAL, -24},
    {SPM_LESS, "<", GI_TOKEN_TYPE_NORMAL, -25},
    {SPM_LESS_S, "<s", GI_TOKEN_TYPE_NORMAL, -9},
    {SPM_GREATER, ">", GI_TOKEN_TYPE_NORMAL, -26},
    {SPM_HE, "he", GI_TOKEN_TYPE_NORMAL, -1},
    {SPM_EL, "el", GI_TOKEN_TYPE_NORMAL, -2},
    {SPM_LL, "ll", GI_TOKEN_TYPE_NORMAL, -3},
    {SPM_HELL, "hell", GI_TOKEN_TYPE_NORMAL, -4},
    {SPM_HELLO, "hello", GI_TOKEN_TYPE_NORMAL, -6},
    {SPM_SPACE_HE, "\u2581he", GI_TOKEN_TYPE_NORMAL, -5},
    {SPM_SPACES, "\u2581\u2581", GI_TOKEN_TYPE_NORMAL, -7},
    {SPM_TOOL, "<tool>", GI_TOKEN_TYPE_USER_DEFINED, 0},
    {SPM_TAB, "\t\t", GI_TOKEN_TYPE_USER_DEFINED, 0},
    {SPM_USER, "<|user|>", GI_TOKEN_TYPE_CONTROL, 0},
    {SPM_END, "<|end|>", GI_TOKEN_TYPE_CONTROL, 0},
    {SPM_EYE, "\xf0\x9f", GI_TOKEN_TYPE_NORMAL, -8},
    {SPM_UNUSED, "<unused>", GI_TOKEN_TYPE_UNUSED, 0},
};

void small_spm_init(struct small_spm *small)
{
    memset(small, 0, sizeof(*small));
    for (size_t byte = 0; byte < 256; byte++) {
        char *text = small->byte_texts[byte];
        int size = snprintf(text, sizeof(small->byte_texts[byte]), "<0x%02zX>", byte);
        small->tokens[SPM_BYTES + byte] = (struct gi_text){text, (size_t)size};
        small->types[SPM_BYTES + byte] = GI_TOKEN_TYPE_BYTE;
    }
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        int id = pieces[i].id;
        small->tokens[id] = (struct gi_text){pieces[i].text, strlen(pieces[i].text)};
        small->types[id] = pieces[i].type;
        small->scores[id] = pieces[i].score;
    }
    small->vocab = (struct gi_vocab){
        .model = {"llama", 5},
        .tokens = small->tokens,
        .types = small->types,
        .scores = small->scores,
        .n_tokens = SPM_COUNT,
        .bos = GI_NO_TOKEN,
        .eos = GI_NO_TOKEN,
        .eot = GI_NO_TOKEN,
        .eom = GI_NO_TOKEN,
        .unk = GI_NO_TOKEN,
        .pad = GI_NO_TOKEN,
        .add_bos = -1,
        .add_eos = -1,
        .add_space_prefix = -1,
    };
}
