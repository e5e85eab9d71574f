#include "jinja/jinja_lexer.h"

#include "base/utf8.h"
#include "jinja/jinja_value.h"

#include <ctype.h>
#include <string.h>

// Sets the pool's line to where the lexer is.
static void count_lines(struct gi_jinja_lexer *lexer)
{
    for (; lexer->counted < lexer->at && lexer->counted < lexer->source.size; lexer->counted++) {
        lexer->pool->line += lexer->source.data[lexer->counted] == '\n';
    }
}

static void fail(struct gi_jinja_lexer *lexer, const char *what)
{
    count_lines(lexer);
    gi_jinja_refuse(lexer->pool, "%s has no end", what);
}

void gi_jinja_expect_failed(struct gi_jinja_lexer *lexer, const char *expected)
{
    const struct gi_jinja_token *token = &lexer->token;
    const bool is_end = token->kind == GI_JINJA_TOKEN_END;
    const int size = token->text.size > 32 ? 32 : (int)token->text.size;
    gi_jinja_refuse(lexer->pool, "expected %s, found '%.*s'", expected, is_end ? 14 : size,
                    is_end ? "the tag's end" : token->text.data);
}

static char peek(const struct gi_jinja_lexer *lexer, size_t offset)
{
    const size_t at = lexer->at + offset;
    return at < lexer->source.size ? lexer->source.data[at] : 0;
}

static bool is_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

bool gi_jinja_is_followed_by(const struct gi_jinja_lexer *lexer, const char *word)
{
    const size_t size = strlen(word);
    size_t i = 0;
    while (gi_jinja_is_space(peek(lexer, i))) {
        i++;
    }
    const size_t at = lexer->at + i;
    const char after = peek(lexer, i + size);
    return gi_jinja_is(gi_jinja_part(lexer->source, at, at + size), word) &&
           (is_name(word[0]) ? !is_name(after) : after != '=');
}

//-- between tags ----------------------------------------------------------------------------------

static size_t find_tag(const struct gi_jinja_lexer *lexer)
{
    const struct gi_jinja_string source = lexer->source;
    size_t i = lexer->at;
    while (i + 1 < source.size &&
           (source.data[i] != '{' || !strchr("{%#", source.data[i + 1]) || !source.data[i + 1])) {
        i++;
    }
    return i + 1 < source.size ? i : source.size;
}

// Returns the end of text [begin, end) without the white space that starts the line of a tag at its
// end.
static size_t strip_line(const struct gi_jinja_lexer *lexer, size_t begin, size_t end)
{
    const char *data = lexer->source.data;
    size_t i = end;
    while (i > begin && data[i - 1] != '\n' && gi_jinja_is_space(data[i - 1])) {
        i--;
    }
    return i == 0 || data[i - 1] == '\n' ? i : end;
}

// Skips text after a tag: all white space if a sign asks for it, a line's end after a statement.
static void end_tag(struct gi_jinja_lexer *lexer, char sign, bool is_block)
{
    if (sign == '-') {
        while (gi_jinja_is_space(peek(lexer, 0))) {
            lexer->at++;
        }
    } else if (is_block && sign != '+') {
        lexer->at += peek(lexer, 0) == '\r' && peek(lexer, 1) == '\n';
        lexer->at += peek(lexer, 0) == '\n';
    }
}

static void skip_comment(struct gi_jinja_lexer *lexer)
{
    const size_t end = gi_jinja_locate(lexer->source, gi_jinja_string_of("#}"), lexer->at);
    if (end == SIZE_MAX) {
        fail(lexer, "a comment");
        return;
    }
    const char sign = lexer->source.data[end - 1];
    lexer->at = end + 2;
    end_tag(lexer, sign, true);
}

enum gi_jinja_tag gi_jinja_next_tag(struct gi_jinja_lexer *lexer, struct gi_jinja_string *text)
{
    const size_t begin = lexer->at, tag = find_tag(lexer);
    *text = gi_jinja_part(lexer->source, begin, tag);
    lexer->at = tag;
    if (tag == lexer->source.size) {
        return lexer->tag = GI_JINJA_TAG_NONE;
    }
    const char kind = peek(lexer, 1), sign = peek(lexer, 2);
    if (sign == '-') {
        *text = gi_jinja_strip(*text, NULL, GI_JINJA_RIGHT);
    } else if (kind != '{' && sign != '+') {
        text->size = strip_line(lexer, begin, tag) - begin;
    }
    lexer->tag = kind == '{'   ? GI_JINJA_TAG_PRINT
                 : kind == '%' ? GI_JINJA_TAG_STATEMENT
                               : GI_JINJA_TAG_COMMENT;
    lexer->at += 2;
    lexer->depth = 0;
    if (lexer->tag == GI_JINJA_TAG_COMMENT) {
        skip_comment(lexer);
        return lexer->tag;
    }
    lexer->at += sign == '-' || sign == '+';
    gi_jinja_advance(lexer);
    return lexer->tag;
}

//-- within them -----------------------------------------------------------------------------------

static bool take_end(struct gi_jinja_lexer *lexer)
{
    const bool is_block = lexer->tag == GI_JINJA_TAG_STATEMENT;
    const char sign = peek(lexer, 0);
    const bool has_sign = sign == '-' || sign == '+';
    if (lexer->depth > 0 || peek(lexer, has_sign) != (is_block ? '%' : '}') ||
        peek(lexer, has_sign + 1u) != '}') {
        return false;
    }
    lexer->at += has_sign + 2u;
    lexer->token = (struct gi_jinja_token){.kind = GI_JINJA_TOKEN_END};
    end_tag(lexer, has_sign ? sign : 0, is_block);
    return true;
}

// Reads the digits of \xhh or \uhhhh; false if they are not there.
static bool take_code(struct gi_jinja_lexer *lexer, uint32_t n_digits, uint32_t *code)
{
    *code = 0;
    for (uint32_t i = 0; i < n_digits; i++) {
        const char digit = peek(lexer, i);
        if (!isxdigit((unsigned char)digit)) {
            return false;
        }
        const uint32_t value =
            digit <= '9' ? (uint32_t)digit - '0' : ((uint32_t)digit | 32) - 'a' + 10;
        *code = *code * 16 + value;
    }
    lexer->at += n_digits;
    return true;
}

// Reads an escape after a backslash as Python does, which keeps unknown escapes.
static void take_escape(struct gi_jinja_lexer *lexer, struct gi_jinja_text *value)
{
    static const char names[] = "ntrbfav0\\'\"", bytes[] = "\n\t\r\b\f\a\v\0\\'\"";
    const char name = peek(lexer, 0);
    const char *found = name ? strchr(names, name) : NULL;
    char out[4] = {'\\', name};
    size_t size = 2;
    uint32_t code;
    lexer->at += name != 0;
    if (found) {
        out[0] = bytes[found - names];
        size = 1;
    } else if ((name == 'x' && take_code(lexer, 2, &code)) ||
               (name == 'u' && take_code(lexer, 4, &code))) {
        size = gi_utf8_encode(code, out);
    } else if (name == '\n') {
        return;
    }
    gi_jinja_append(lexer->pool, value, (struct gi_jinja_string){out, NULL, name ? size : 1});
}

static void take_string(struct gi_jinja_lexer *lexer)
{
    struct gi_jinja_text value = {0};
    const char quote = peek(lexer, 0);
    lexer->at++;
    while (lexer->at < lexer->source.size && peek(lexer, 0) != quote && !lexer->pool->has_failed) {
        const size_t at = lexer->at++;
        if (lexer->source.data[at] == '\\') {
            take_escape(lexer, &value);
        } else {
            gi_jinja_append(lexer->pool, &value, gi_jinja_part(lexer->source, at, at + 1));
        }
    }
    if (lexer->at >= lexer->source.size) {
        fail(lexer, "a string");
        return;
    }
    lexer->at++;
    lexer->token = (struct gi_jinja_token){.kind = GI_JINJA_TOKEN_STRING,
                                           .text = gi_jinja_text_string(&value)};
}

static void take_word(struct gi_jinja_lexer *lexer)
{
    const size_t begin = lexer->at;
    while (is_name(peek(lexer, 0))) {
        lexer->at++;
    }
    lexer->token = (struct gi_jinja_token){.kind = GI_JINJA_TOKEN_NAME,
                                           .text = gi_jinja_part(lexer->source, begin, lexer->at)};
}

static void take_number(struct gi_jinja_lexer *lexer)
{
    int64_t number = 0;
    bool is_over = false;
    take_word(lexer);
    const struct gi_jinja_string digits = lexer->token.text;
    for (size_t i = 0; i < digits.size; i++) {
        is_over = is_over || !isdigit((unsigned char)digits.data[i]) ||
                  __builtin_mul_overflow(number, 10, &number) ||
                  __builtin_add_overflow(number, digits.data[i] - '0', &number);
    }
    if (is_over || (peek(lexer, 0) == '.' && isdigit((unsigned char)peek(lexer, 1)))) {
        count_lines(lexer);
        gi_jinja_expect_failed(lexer, "a whole number");
    }
    lexer->token.kind = GI_JINJA_TOKEN_INT;
    lexer->token.number = number;
}

static void take_sign(struct gi_jinja_lexer *lexer)
{
    static const char *const pairs[] = {"==", "!=", "<=", ">=", "//", "**"};
    size_t size = 1;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (peek(lexer, 0) == pairs[i][0] && peek(lexer, 1) == pairs[i][1]) {
            size = 2;
        }
    }
    lexer->token =
        (struct gi_jinja_token){.kind = GI_JINJA_TOKEN_SIGN,
                                .text = gi_jinja_part(lexer->source, lexer->at, lexer->at + size)};
    const char sign = peek(lexer, 0);
    lexer->depth +=
        (sign == '(' || sign == '[' || sign == '{') - (sign == ')' || sign == ']' || sign == '}');
    lexer->at += size;
}

static void take_token(struct gi_jinja_lexer *lexer)
{
    const char byte = peek(lexer, 0);
    if (byte == '"' || byte == '\'') {
        take_string(lexer);
    } else if (isdigit((unsigned char)byte)) {
        take_number(lexer);
    } else if (is_name(byte)) {
        take_word(lexer);
    } else {
        take_sign(lexer);
    }
}

void gi_jinja_advance(struct gi_jinja_lexer *lexer)
{
    while (gi_jinja_is_space(peek(lexer, 0))) {
        lexer->at++;
    }
    if (lexer->at >= lexer->source.size) {
        fail(lexer, "a tag");
        lexer->token = (struct gi_jinja_token){.kind = GI_JINJA_TOKEN_END};
    } else if (!take_end(lexer)) {
        take_token(lexer);
    }
    count_lines(lexer);
}
