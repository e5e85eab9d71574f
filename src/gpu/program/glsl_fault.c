#include "gpu/program/glsl_fault.h"

#include "base/array.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REAL(type) "highp " type " fault(highp " type " x) { return 1.25 * x + " type "(0.25); } "
// Changes a float of 32 bits, both of a pair of 16, and two of four bytes.
#define WORDS(type) "highp " type " fault(highp " type " x) { return x ^ " type "(0x00200200u); } "

const char gi_glsl_fault_head[] = REAL("float") REAL("vec2") REAL("vec3") REAL("vec4") WORDS("uint")
    WORDS("uvec2") WORDS("uvec4") "highp uint fault_id(highp uint x) { return x ^ 1u; }";

enum { MAX_ARRAYS = 8, NAME_SIZE = 32 };

struct stores {
    char arrays[MAX_ARRAYS][NAME_SIZE]; // members of written blocks: "stream"
    uint32_t n_arrays;
    bool ends_step; // only tokens are changed
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// Lists the arrays of all blocks that may be written: "buffer Name { type name[]; };".
static void list_arrays(struct stores *stores, const char *text)
{
    char name[NAME_SIZE], line[200];
    for (const char *at = text; (at = strstr(at, " buffer ")) != NULL; at++) {
        const char *begin = at;
        while (begin > text && begin[-1] != '\n') {
            begin--;
        }
        snprintf(line, sizeof(line), "%.*s", (int)(at - begin), begin);
        if (!strstr(line, "readonly") &&
            sscanf(at, " buffer %*31[A-Za-z0-9] { %*31s %31[A-Za-z0-9_]", name) == 1 &&
            stores->n_arrays < MAX_ARRAYS) {
            snprintf(stores->arrays[stores->n_arrays++], NAME_SIZE, "%s", name);
        }
    }
}

// Returns the text after an element or a component of a listed array at `at`, NULL if there is
// none.
static const char *skip_element(const struct stores *stores, const char *at)
{
    for (uint32_t i = 0; i < stores->n_arrays; i++) {
        const size_t size = strlen(stores->arrays[i]);
        if (strncmp(at, stores->arrays[i], size) != 0 || at[size] != '[') {
            continue;
        }
        uint32_t depth = 0;
        for (at += size; *at; at++) {
            depth += *at == '[';
            depth -= *at == ']';
            if (depth == 0) {
                at++;
                return *at == '.' ? at + 1 + strspn(at + 1, "xyzw") : at;
            }
        }
    }
    return NULL;
}

// Returns the value of a store that begins at `at` and the function that it goes through; NULL if
// none does.
static const char *find_value(const struct stores *stores, const char *at, const char **function)
{
    const char *end = NULL;
    *function = "fault(";
    if (strncmp(at, "state.token =", 12) == 0 || strncmp(at, "ring[slot].token =", 18) == 0) {
        *function = "fault_id(";
        end = strchr(at, ' ');
    } else if (!stores->ends_step) {
        end = skip_element(stores, at);
    }
    if (!end) {
        return NULL;
    }
    end += strspn(end, " ");
    end += *end == '+' || *end == '*';
    // A store of 0u begins a count anew.
    return end[0] == '=' && end[1] != '=' && strncmp(end, "= 0u;", 5) != 0 ? end + 1 : NULL;
}

bool gi_glsl_fault_stores(struct gi_glsl_source *source, struct glinfer_error *err)
{
    struct stores stores = {.ends_step = strstr(source->text, "state.token =") != NULL};
    list_arrays(&stores, source->text);
    // A store is longer than what is put into it.
    char *result = gi_array_zeroed(2 * source->size + 1, 1, "a program's source", err);
    if (!result) {
        return false;
    }
    char *to = result;
    bool is_inside = false; // of a store's value
    for (const char *at = source->text; *at;) {
        const char *function;
        const char *value = at == source->text || is_word(at[-1]) || at[-1] == '.' || is_inside
                                ? NULL
                                : find_value(&stores, at, &function);
        if (value) {
            to += sprintf(to, "%.*s %s", (int)(value - at), at, function);
            at = value;
            is_inside = true;
        } else if (is_inside && *at == ';') {
            *to++ = ')';
            is_inside = false;
        } else {
            const size_t size = strncmp(at, "//", 2) == 0 ? strcspn(at, "\n") : 1;
            memcpy(to, at, size);
            to += size;
            at += size;
        }
    }
    free(source->text);
    source->text = result;
    source->size = (size_t)(to - result);
    return true;
}
