#include "base/arguments.h"

#include <string.h>

// Return the place of a check as a caller of glinfer.h knows it: the public function, and the
// argument without our own variable.
static const char *known_function(const char *function)
{
    return strncmp(function, "glinfer_", 8) == 0 ? function : "the arguments";
}

static const char *known_name(const char *name)
{
    const char *dot = strrchr(name, '.'), *arrow = strrchr(name, '>');
    return dot ? dot + 1 : arrow ? arrow + 1 : name;
}

bool gi_check_number(const char *name, double value, double least, double most,
                     struct glinfer_error *err)
{
    return ((float)value >= (float)least && (float)value <= (float)most) ||
           gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "invalid %s %g: expected %g to %g",
                        name, value, least, most);
}

// The size of a struct with pointers is a multiple of a pointer's: another one would cut a pointer.
static bool is_size(size_t size)
{
    return size >= sizeof(size_t) && size % sizeof(void *) == 0;
}

static size_t read_size(const void *sized)
{
    size_t size;
    memcpy(&size, sized, sizeof(size));
    return size;
}

static bool refuse_null(const char *function, const char *name, const char *index,
                        struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "%s: %s%s is NULL", function, name,
                        index);
}

static bool take_struct(const struct gi_argument *argument, const char *function, const char *name,
                        struct glinfer_error *err)
{
    const size_t known = argument->value ? read_size(argument->value) : 0;
    if (argument->value && !is_size(known)) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%s: invalid struct_size of %s: %zu; set it with the _init function or "
                            "sizeof",
                            function, name, known);
    }
    if (argument->own && argument->value) {
        const size_t size = (size_t)argument->n;
        memcpy(argument->own, argument->value, known < size ? known : size);
    }
    return true;
}

static bool check(const struct gi_argument *argument, const char *function,
                  struct glinfer_error *err)
{
    const char *const *strings = argument->value;
    const char *name = known_name(argument->name);
    switch (argument->kind) {
    case GI_ARGUMENT_SET:
        return argument->value || argument->n || refuse_null(function, name, "", err);
    case GI_ARGUMENT_STRINGS:
        for (uint64_t i = 0; i < (uint64_t)argument->n; i++) {
            if (!strings || !strings[i]) {
                return refuse_null(function, name, strings ? "[i]" : "", err);
            }
        }
        return true;
    case GI_ARGUMENT_ENUM:
        return (argument->n >= 0 && argument->n <= argument->last) ||
               gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%s: %s is %lld, expected 0 to %lld", function, name,
                            (long long)argument->n, (long long)argument->last);
    case GI_ARGUMENT_STRUCT:
        return take_struct(argument, function, name, err);
    }
    return true;
}

bool gi_check(struct glinfer_error *err, const char *function, const struct gi_argument *arguments,
              size_t n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        ok = check(&arguments[i], known_function(function), err);
    }
    return ok;
}

void gi_sized_give(void *out, const void *full, size_t size)
{
    const size_t first = sizeof(size_t), known = out ? read_size(out) : 0;
    if (out && is_size(known)) {
        memcpy((char *)out + first, (const char *)full + first,
               (known < size ? known : size) - first);
    }
}
