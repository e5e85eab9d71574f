// A device's tuning on disk: a file in the cache's folder "tuning", named by what identifies driver
// and kernels. It only ever saves time: a file that is missing, damaged or foreign leaves the class
// tables to choose.
#pragma once

#include "gpu/device/gpu.h"
#include "ops/record/tuning.h"

struct gi_tuning_file {
    char *folder;  // owned; NULL: nothing is kept
    char name[40]; // of the file
    char *path;    // of both; owned
};

// Finds the place of a gpu's file. cache_dir as glinfer_device_params has it.
void gi_tuning_file_init(struct gi_tuning_file *file, const struct gi_gpu *gpu,
                         const char *cache_dir);
// Frees the names. Accepts all-zero.
void gi_tuning_file_finish(struct gi_tuning_file *file);

// Adds the file's rows; a tuning without any where there is none. Fails with NO_MEMORY.
bool gi_tuning_file_load(const struct gi_tuning_file *file, struct gi_tuning *tuning,
                         struct glinfer_error *err);
// Adds the rows of any file. Fails with IO where it cannot be read, NO_MEMORY.
bool gi_tuning_file_read(const char *path, struct gi_tuning *tuning, struct glinfer_error *err);
// Checks that rows can be stored, without changing the file. Fails with IO (the folder, the
// system's reason).
bool gi_tuning_file_check(const struct gi_tuning_file *file, struct glinfer_error *err);
// Writes all rows. Fails with IO (the folder, the system's reason), NO_MEMORY.
bool gi_tuning_file_store(const struct gi_tuning_file *file, const struct gi_tuning *tuning,
                          struct glinfer_error *err);
// Removes the file. Fails with IO.
bool gi_tuning_file_remove(const struct gi_tuning_file *file, struct glinfer_error *err);
