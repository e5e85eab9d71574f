#include "cli/chat/cli_editor.h"

struct cli_editor *cli_editor_open(const char *prompt)
{
    (void)prompt;
    return NULL;
}

void cli_editor_close(struct cli_editor *editor)
{
    (void)editor;
}

enum cli_line cli_editor_read(struct cli_editor *editor, bool is_first, struct cli_bytes *text)
{
    (void)editor, (void)is_first, (void)text;
    return CLI_LINE_END;
}

void cli_editor_remember(struct cli_editor *editor, const char *text)
{
    (void)editor, (void)text;
}
