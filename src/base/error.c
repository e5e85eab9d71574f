#include "base/error.h"

#include "base/printable.h"

#include <stdarg.h>
#include <stdio.h>

const char *glinfer_status_text(enum glinfer_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, text)                                                             \
    case GLINFER_STATUS_##name:                                                                    \
        return text;
        GLINFER_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

bool gi_error_set(struct glinfer_error *err, enum glinfer_status status, const char *format, ...)
{
    if (!err) {
        return false;
    }
    char message[sizeof(err->message)]; // the arguments may point into *err
    va_list args;
    va_start(args, format);
    int length = vsnprintf(message, sizeof(message), format, args);
    va_end(args);

    err->status = status;
    if (length <= 0) {
        snprintf(err->message, sizeof(err->message), "%s", glinfer_status_text(status));
        return false;
    }
    size_t size = gi_printable(message, strlen(message));
    memcpy(err->message, message, size);
    err->message[size] = 0;
    return false;
}

bool gi_error_pass(struct glinfer_error *err, const struct glinfer_error *from)
{
    if (err) {
        *err = *from;
    }
    return false;
}

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const char *glinfer_version(void)
{
    return TEXT(GLINFER_VERSION_MAJOR) "." TEXT(GLINFER_VERSION_MINOR) "." TEXT(
        GLINFER_VERSION_PATCH);
}
