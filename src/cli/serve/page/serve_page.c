#include "cli/serve/page/serve_page.h"

#include <string.h>

static const char page[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>glinfer</title>"
    "<p>glinfer serves here. Programs talk to it at <code>/v1/chat/completions</code>; "
    "<code>man glinfer-serve</code> lists the rest.</p></html>\n";

static const struct serve_page pages[] = {
    {"/",           "text/html; charset=utf-8", page, sizeof(page) - 1},
    {"/index.html", "text/html; charset=utf-8", page, sizeof(page) - 1},
};

const struct serve_page *serve_find_page(const char *path)
{
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strcmp(pages[i].path, path) == 0) {
            return &pages[i];
        }
    }
    return NULL;
}
