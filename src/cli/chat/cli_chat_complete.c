// Completes the last word of a line that begins with a slash: a command, a setting, a file.
#include "cli/chat/cli_chat.h"
#include "cli/chat/cli_message.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static bool begins_with(const char *word, const char *typed)
{
    return strncmp(word, typed, strlen(typed)) == 0;
}

// Offers a word that begins as typed.
static void offer(struct cli_offers *offers, const char *typed, const char *word, const char *end)
{
    if (begins_with(word, typed)) {
        cli_bytes_add(&offers->words, word);
        cli_bytes_append(&offers->words, end, strlen(end) + 1);
        offers->count++;
    }
}

// Offers the entries of a folder; those whose names begin with a dot only after a dot.
static void offer_files(struct cli_offers *offers, const char *typed)
{
    const char *slash = strrchr(typed, '/'), *name = slash ? slash + 1 : typed;
    struct cli_bytes folder = {0}, path = {0};
    cli_bytes_append(&path, typed, (size_t)(name - typed));
    cli_message_path(path.data, &folder);
    DIR *stream = opendir(folder.size > 0 ? folder.data : ".");
    for (struct dirent *entry; stream && (entry = readdir(stream)) != NULL;) {
        struct stat status;
        if (!begins_with(entry->d_name, name) || (entry->d_name[0] == '.' && name[0] != '.') ||
            strpbrk(entry->d_name, "\"'\\")) {
            continue;
        }
        const bool is_folder =
            fstatat(dirfd(stream), entry->d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
        offer(offers, name, entry->d_name, is_folder ? "/" : "");
    }
    if (stream) {
        closedir(stream);
    }
    offers->n_typed = strlen(name);
    cli_bytes_finish(&folder);
    cli_bytes_finish(&path);
}

void cli_chat_complete(const char *line, struct cli_offers *offers)
{
    char text[64];
    const char *name;
    const size_t size = strcspn(line, " \t");
    const char *word = line + size + strspn(line + size, " \t");
    offers->words.size = offers->count = 0;
    if (line[0] != '/') {
        return;
    }
    if (line[size] == '\0') {
        offers->n_typed = size;
        for (size_t i = 0; (name = cli_chat_command_at(i)) != NULL; i++) {
            offer(offers, line, name, " ");
        }
    } else if (begins_with(line, "/set ") && !strpbrk(word, " \t=")) {
        offers->n_typed = strlen(word);
        for (size_t i = 0; (name = cli_chat_setting_at(i, text)) != NULL; i++) {
            offer(offers, word, name, " ");
        }
    } else if (begins_with(line, "/save ") || begins_with(line, "/save! ") ||
               begins_with(line, "/load ")) {
        offer_files(offers, word);
    }
}
