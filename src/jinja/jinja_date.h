// Tells the day to templates.
#ifndef GI_JINJA_JINJA_DATE_H
#define GI_JINJA_JINJA_DATE_H

#include <stddef.h>

// Writes today's local date as strftime has it, in English, and a 0; nothing where there is no
// room.
void gi_jinja_today(const char *format, char *out, size_t capacity);

#endif
