// One message of a chat from one line or several: a line that ends in a backslash goes on with the
// next one, and so does text after """ up to the next """.
#pragma once

#include "cli/chat/cli_lines.h"

// Replaces *text by the next message. A text that the end of input cuts is a message. With
// CLI_LINE_INTERRUPT *text is the dropped text. *is_quoted: the text began with """, so it is not a
// command.
enum cli_line cli_message_read(struct cli_lines *lines, struct cli_bytes *text, bool *is_quoted);

// Replaces *path by the file that an argument names, as a shell reads it: quotes and backslashes
// are removed, ~/ is the home folder; spaces within it need no quotes.
void cli_message_path(const char *argument, struct cli_bytes *path);

// Writes the path of a file that is kept between chats, and creates its folder; false if there is
// no place for it.
bool cli_state_path(const char *name, char *path, size_t size);
