#include "sampler/sampler_order.h"

#include <string.h>

static const struct {
    const char *name;
    char letter;
} names[GI_SAMPLER_COUNT] = {
#define GI_SAMPLER_ROW(kind, name, letter) {name, (letter)[0]},
    GI_SAMPLER_MAP(GI_SAMPLER_ROW)
#undef GI_SAMPLER_ROW
};

static const struct {
    const char *name;
    enum gi_sampler_kind kind;
} others[] = {
    {"nucleus", GI_SAMPLER_TOP_P},          {"temp", GI_SAMPLER_TEMPERATURE},
    {"top_nsigma", GI_SAMPLER_TOP_N_SIGMA}, {"typ", GI_SAMPLER_TYPICAL},
    {"typical", GI_SAMPLER_TYPICAL},        {"typical_p", GI_SAMPLER_TYPICAL},
};

void gi_sampler_order_default(struct gi_sampler_order *order)
{
    order->n = GI_SAMPLER_ADAPTIVE_P;
    for (uint32_t i = 0; i < order->n; i++) {
        order->kinds[i] = (enum gi_sampler_kind)i;
    }
}

// Returns true if word[0..size) is a name; "-" counts as "_".
static bool is_name(const char *word, size_t size, const char *name)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] == 0 || (word[i] == '-' ? '_' : word[i]) != name[i]) {
            return false;
        }
    }
    return name[size] == 0;
}

// Returns the kind that a word names; GI_SAMPLER_COUNT if it is unknown.
static enum gi_sampler_kind find_name(const char *word, size_t size)
{
    for (int i = 0; i < GI_SAMPLER_COUNT; i++) {
        if (is_name(word, size, names[i].name)) {
            return (enum gi_sampler_kind)i;
        }
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (is_name(word, size, others[i].name)) {
            return others[i].kind;
        }
    }
    return GI_SAMPLER_COUNT;
}

static enum gi_sampler_kind find_letter(char letter)
{
    int i = 0;
    while (i < GI_SAMPLER_COUNT && names[i].letter != letter) {
        i++;
    }
    return (enum gi_sampler_kind)i;
}

static bool append(struct gi_sampler_order *order, enum gi_sampler_kind kind, const char *word,
                   size_t size, struct glinfer_error *err)
{
    if (kind == GI_SAMPLER_COUNT) {
#define GI_SAMPLER_TEXT(kind, name, letter) ", " name " (" letter ")"
        static const char all[] = GI_SAMPLER_MAP(GI_SAMPLER_TEXT);
#undef GI_SAMPLER_TEXT
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "invalid sampler '%.*s': expected one of %s",
                            size < 64 ? (int)size : 64, word, all + strlen(", "));
    }
    if (order->n == GI_SAMPLER_MAX_ORDER) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "invalid order of samplers: it has more than %d", GI_SAMPLER_MAX_ORDER);
    }
    order->kinds[order->n++] = kind;
    return true;
}

static bool parse_letters(struct gi_sampler_order *order, const char *text,
                          struct glinfer_error *err)
{
    bool ok = true;
    for (; ok && *text; text++) {
        ok = append(order, find_letter(*text), text, 1, err);
    }
    return ok;
}

static bool is_letters(const char *text)
{
    const size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if (find_letter(text[i]) == GI_SAMPLER_COUNT) {
            return false;
        }
    }
    return find_name(text, size) == GI_SAMPLER_COUNT;
}

bool gi_sampler_order_parse(struct gi_sampler_order *order, const char *text,
                            struct glinfer_error *err)
{
    order->n = 0;
    if (is_letters(text)) {
        return parse_letters(order, text, err);
    }
    bool ok = true;
    for (const char *word = text; ok && *word;) {
        const size_t size = strcspn(word, ";");
        ok = size == 0 || append(order, find_name(word, size), word, size, err);
        word += size + (word[size] == ';');
    }
    return ok;
}
