#include "cli/sampling/cli_grammar.h"

#include "cli/common/cli_io.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool cli_parse_text_file(const char *path, void *field, char *why, size_t size)
{
    struct cli_bytes bytes = {0};
    if (access(path, R_OK) != 0) {
        snprintf(why, size, "a file that can be read (%s)", strerror(errno));
        return false;
    }
    if (!cli_read_all(path, &bytes)) {
        snprintf(why, size, "a file that can be read");
        return false;
    }
    if (!bytes.data || strlen(bytes.data) != bytes.size) {
        snprintf(why, size, "a file of text");
        cli_bytes_finish(&bytes);
        return false;
    }
    *(const char **)field = bytes.data;
    return true;
}
