#include "cli/serve/page/serve_page.h"

#include <string.h>

const struct serve_page *serve_find_page(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, "/index.html") == 0 ? &serve_page : NULL;
}
