#include "engine/device/tuning_file.h"

#include "base/cache_file.h"
#include "glinfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_SIZE (256u << 10)

void gi_tuning_file_init(struct gi_tuning_file *file, const struct gi_gpu *gpu,
                         const char *cache_dir)
{
    struct gi_hash hash;
    char digits[33];
    gi_hash_init(&hash);
    gi_hash_add(&hash, glinfer_version(), strlen(glinfer_version()));
    gi_gpu_identify(gpu, &hash);
    gi_hash_text(&hash, digits);
    snprintf(file->name, sizeof(file->name), "%s.txt", digits);
    file->folder = gi_cache_folder(cache_dir, "tuning");
    const size_t size = file->folder ? strlen(file->folder) + sizeof(file->name) + 1 : 0;
    file->path = size ? malloc(size) : NULL;
    if (file->path) {
        snprintf(file->path, size, "%s/%s", file->folder, file->name);
    }
}

void gi_tuning_file_finish(struct gi_tuning_file *file)
{
    free(file->folder);
    free(file->path);
    *file = (struct gi_tuning_file){0};
}

bool gi_tuning_file_load(const struct gi_tuning_file *file, struct gi_tuning *tuning,
                         struct glinfer_error *err)
{
    size_t size = 0;
    char *text =
        file->folder ? gi_cache_read(file->folder, file->name, MAX_FILE_SIZE, &size) : NULL;
    const bool ok = !text || gi_tuning_parse(tuning, text, size, err) >= 0;
    free(text);
    return ok;
}

bool gi_tuning_file_read(const char *path, struct gi_tuning *tuning, struct glinfer_error *err)
{
    size_t size = 0;
    char *text = gi_cache_read(NULL, path, MAX_FILE_SIZE, &size);
    if (!text) {
        return gi_error_set(err, GLINFER_STATUS_IO, "the tuning %s cannot be read: %s", path,
                            strerror(errno));
    }
    const bool ok = gi_tuning_parse(tuning, text, size, err) >= 0;
    free(text);
    return ok;
}

static bool refuse(const struct gi_tuning_file *file, const char *what, struct glinfer_error *err)
{
    return gi_error_set(err, GLINFER_STATUS_IO, "the tuning cannot be %s in %s (%s)", what,
                        file->folder, strerror(errno));
}

bool gi_tuning_file_check(const struct gi_tuning_file *file, struct glinfer_error *err)
{
    if (!file->folder) {
        return gi_error_set(err, GLINFER_STATUS_IO,
                            "the tuning cannot be kept without a cache folder: set XDG_CACHE_HOME "
                            "to a writable one");
    }
    return gi_cache_check(file->folder) || refuse(file, "kept", err);
}

bool gi_tuning_file_store(const struct gi_tuning_file *file, const struct gi_tuning *tuning,
                          struct glinfer_error *err)
{
    size_t size = 0;
    char *text = gi_tuning_file_check(file, err) ? gi_tuning_format(tuning, &size, err) : NULL;
    if (!text) {
        return false;
    }
    const struct gi_cache_piece piece = {text, size};
    const bool ok =
        gi_cache_write(file->folder, file->name, &piece, 1) || refuse(file, "kept", err);
    free(text);
    return ok;
}

bool gi_tuning_file_remove(const struct gi_tuning_file *file, struct glinfer_error *err)
{
    return !file->folder || gi_cache_remove(file->folder, file->name) ||
           refuse(file, "removed", err);
}
