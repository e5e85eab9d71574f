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

bool gi_check_set(const void *argument, const char *name, const char *function,
                  struct glinfer_error *err)
{
    return argument || gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "%s: %s is NULL",
                                    known_function(function), known_name(name));
}

bool gi_check_enum(int64_t value, int64_t last, const char *name, const char *function,
                   struct glinfer_error *err)
{
    return (value >= 0 && value <= last) ||
           gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "%s: %s is %lld, expected 0 to %lld",
                        known_function(function), known_name(name), (long long)value,
                        (long long)last);
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

bool gi_sized_check(const void *sized, const char *name, const char *function,
                    struct glinfer_error *err)
{
    return !sized || is_size(read_size(sized)) ||
           gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "%s: invalid struct_size of %s: %zu; set it with the _init function or "
                        "sizeof",
                        known_function(function), known_name(name), read_size(sized));
}

bool gi_sized_take(void *own, size_t size, const void *params, const char *name,
                   const char *function, struct glinfer_error *err)
{
    if (!gi_sized_check(params, name, function, err)) {
        return false;
    }
    if (params) {
        const size_t known = read_size(params);
        memcpy(own, params, known < size ? known : size);
    }
    return true;
}

void gi_sized_give(void *out, const void *full, size_t size)
{
    const size_t first = sizeof(size_t), known = out ? read_size(out) : 0;
    if (out && is_size(known)) {
        memcpy((char *)out + first, (const char *)full + first,
               (known < size ? known : size) - first);
    }
}
