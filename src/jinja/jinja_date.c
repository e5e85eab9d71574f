#include "jinja/jinja_date.h"

#include <locale.h>
#include <stdbool.h>
#include <time.h>

void gi_jinja_today(const char *format, char *out, size_t capacity)
{
    time_t now = time(NULL);
    struct tm local;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    bool is_known = c_locale != (locale_t)0 && localtime_r(&now, &local);
    if (!is_known || !strftime_l(out, capacity, format, &local, c_locale)) {
        out[0] = 0;
    }
    if (c_locale != (locale_t)0) {
        freelocale(c_locale);
    }
}
