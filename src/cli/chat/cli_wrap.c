#include "cli/chat/cli_wrap.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_utf8.h"

#include <string.h>
#include <wchar.h>

void cli_wrap_begin(struct cli_wrap *wrap, size_t n_columns)
{
    const struct cli_bytes word = wrap->word;
    *wrap = (struct cli_wrap){.n_columns = n_columns, .word = word, .is_first = true};
    wrap->word.size = 0;
}

void cli_wrap_finish(struct cli_wrap *wrap)
{
    cli_bytes_finish(&wrap->word);
}

//-- characters ------------------------------------------------------------------------------------

// Returns the columns of a character; one that is unknown takes one.
static size_t count_columns(const char *text, size_t size)
{
    const uint32_t point = cli_utf8_decode(text, size);
    const int width = wcwidth((wchar_t)point);
    return width < 0 ? point >= 0x20 : (size_t)width;
}

//-- words -----------------------------------------------------------------------------------------

bool cli_wrap_flush(struct cli_wrap *wrap)
{
    struct cli_bytes *word = &wrap->word;
    size_t skipped = 0;
    bool is_written = true;
    const size_t end = wrap->column + wrap->n_spaces + wrap->width;
    if (wrap->width > 0 && !wrap->is_first && end > wrap->n_columns) {
        is_written = cli_write("\n", 1);
        skipped = wrap->n_spaces; // the end of the line stands for them
        wrap->column = 0;
    }
    if (word->size > skipped) {
        is_written = cli_write(word->data + skipped, word->size - skipped) && is_written;
        wrap->column += wrap->n_spaces - skipped + wrap->width;
    }
    if (wrap->is_first && wrap->width > 0) {
        const char *start = word->data + wrap->n_spaces;
        wrap->is_table = start[0] == '|';
        wrap->is_code = wrap->is_code || strncmp(start, "```", 3) == 0;
        wrap->is_first = false;
    }
    word->size = wrap->n_spaces = wrap->width = 0;
    return is_written;
}

static bool end_line(struct cli_wrap *wrap)
{
    if (wrap->width == 0 && wrap->column + wrap->n_spaces > wrap->n_columns) {
        wrap->word.size = wrap->n_spaces = 0; // they would begin another line
    }
    const bool is_written = cli_wrap_flush(wrap) && cli_write("\n", 1);
    wrap->column = 0;
    wrap->is_first = true;
    wrap->is_table = false;
    return is_written;
}

// Shows code as it is, up to the end of the line that closes it.
static bool take_code(struct cli_wrap *wrap, const char *text, size_t size)
{
    if (text[0] == '\n') {
        wrap->is_code = wrap->n_ticks < 3;
        wrap->is_first = true;
        wrap->column = wrap->n_ticks = 0;
    } else if (wrap->is_first && text[0] == '`') {
        wrap->n_ticks++;
    } else if (text[0] != ' ') {
        wrap->is_first = false;
    }
    return cli_write(text, size);
}

// Shows a character as it is, in a line that is not broken.
static bool take_whole(struct cli_wrap *wrap, const char *text, size_t size)
{
    const bool is_end = text[0] == '\n';
    wrap->is_table = wrap->is_table && !is_end;
    wrap->is_first = is_end;
    wrap->column = 0;
    return cli_write(text, size);
}

static bool take_character(struct cli_wrap *wrap, const char *text, size_t size)
{
    const bool is_space = text[0] == ' ';
    const size_t width = count_columns(text, size);
    bool is_written = true;
    // Scripts whose characters are two columns wide have no spaces between words.
    if (wrap->width > 0 && (is_space || width > 1)) {
        is_written = cli_wrap_flush(wrap); // which may find that code or a table begins
    }
    if (wrap->is_code) {
        return take_code(wrap, text, size) && is_written;
    }
    if (wrap->n_columns == 0 || wrap->is_table) {
        return take_whole(wrap, text, size) && is_written;
    }
    if (text[0] == '\n') {
        return end_line(wrap);
    }
    cli_bytes_append(&wrap->word, text, size);
    wrap->n_spaces += is_space;
    wrap->width += is_space ? 0 : width;
    const bool is_long = wrap->width >= wrap->n_columns;
    return (width > 1 || is_long || text[0] == '\t' ? cli_wrap_flush(wrap) : true) && is_written;
}

bool cli_wrap_write(struct cli_wrap *wrap, const char *text, size_t size)
{
    bool is_written = true;
    for (size_t i = 0; i < size; i++) {
        if (wrap->n_bytes > 0 && !cli_utf8_continues(text[i])) { // one that was cut
            is_written = take_character(wrap, wrap->character, wrap->n_bytes) && is_written;
            wrap->n_bytes = 0;
        }
        wrap->n_wanted = wrap->n_bytes == 0 ? cli_utf8_expected_size(text[i]) : wrap->n_wanted;
        wrap->character[wrap->n_bytes++] = text[i];
        if (wrap->n_bytes >= wrap->n_wanted) {
            is_written = take_character(wrap, wrap->character, wrap->n_bytes) && is_written;
            wrap->n_bytes = 0;
        }
    }
    return is_written;
}
