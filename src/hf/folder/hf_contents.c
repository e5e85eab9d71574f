#include "hf/folder/hf_contents.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

// Files and folders that tell the format of a folder, with advice for the user; the first match
// counts.
static const struct {
    const char *pattern;
    const char *advice;
} formats[] = {
    {"adapter_config.json", "a LoRA adapter, not a whole model: give the base model with -m "
                            "and the adapter with --lora"},
    {"adapter_model.safetensors", "a LoRA adapter without adapter_config.json: download that file, "
                                  "too, and give the folder with --lora"},
    {"*.gguf", "a folder of GGUF files: name the file"},
    {"consolidated*.safetensors", "a folder of Mistral's own format, which is not supported: "
                                  "download model*.safetensors of the model, or a GGUF file of it"},
    {"*.npz", "a folder of NumPy arrays, which are not supported: convert the original model with "
              "a current mlx_lm.convert, or use its SafeTensors"},
    {"*.onnx", "a folder of ONNX files, which are not supported: use the SafeTensors of the "
               "original model, or a GGUF file of it"},
    {"pytorch_model*.bin", "a folder of PyTorch files, which are not supported: save the model as "
                           "SafeTensors, such as with save_pretrained of transformers"},
    {"*.pth", "a folder of PyTorch files, which are not supported: convert the model to "
              "SafeTensors, or use a GGUF file of it"},
    {"*.pt", "a folder of PyTorch files, which are not supported: convert the model to "
             "SafeTensors, or use a GGUF file of it"},
    {"tf_model*.h5", "a folder of TensorFlow files, which are not supported: use the SafeTensors "
                     "of the model"},
    {"flax_model*.msgpack", "a folder of Flax files, which are not supported: use the SafeTensors "
                            "of the model"},
    {"onnx", "a folder of ONNX files, which are not supported: use the SafeTensors of the "
             "original model, or a GGUF file of it"},
};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

struct contents {
    bool has_config, has_tensors;
    size_t format; // N_FORMATS: unknown
    char file[256];
    char other[256]; // SafeTensors of another name; "": none
};

static void note_file(struct contents *contents, const char *name)
{
    contents->has_config |= strcmp(name, "config.json") == 0;
    contents->has_tensors |= fnmatch("model*.safetensors", name, 0) == 0 ||
                             strcmp(name, "model.safetensors.index.json") == 0;
    if (fnmatch("*.safetensors", name, 0) == 0) {
        snprintf(contents->other, sizeof(contents->other), "%s", name);
    }
    for (size_t i = 0; i < contents->format; i++) {
        if (fnmatch(formats[i].pattern, name, 0) == 0) {
            contents->format = i;
            snprintf(contents->file, sizeof(contents->file), "%s", name);
        }
    }
}

static bool read_names(const char *folder, struct contents *contents, struct glinfer_error *err)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        return errno == ENOMEM
                   ? gi_error_no_memory(err, sizeof(dir), "a list of files")
                   : gi_error_set(err,
                                  errno == ENOENT ? GLINFER_STATUS_NOT_FOUND : GLINFER_STATUS_IO,
                                  "%s: cannot read the folder: %s", folder, strerror(errno));
    }
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        note_file(contents, entry->d_name);
    }
    closedir(dir);
    return true;
}

bool gi_hf_check_contents(const char *folder, struct glinfer_error *err)
{
    struct contents contents = {.format = N_FORMATS};
    if (!read_names(folder, &contents, err)) {
        return false;
    }
    if (contents.has_config && contents.has_tensors) {
        return true;
    }
    if (contents.format < N_FORMATS) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "%s: is %s (it has %s)", folder,
                            formats[contents.format].advice, contents.file);
    }
    if (contents.has_config && contents.other[0]) {
        return gi_error_set(err, GLINFER_STATUS_NOT_FOUND,
                            "%s: has config.json and %s, but no model.safetensors: rename the file "
                            "to that if it has the whole model",
                            folder, contents.other);
    }
    return gi_error_set(err, GLINFER_STATUS_NOT_FOUND,
                        contents.has_config
                            ? "%s: has config.json, but no model.safetensors and no "
                              "model.safetensors.index.json: download the weights, too"
                            : "%s: is a folder without config.json: a folder of a model has "
                              "config.json, tokenizer.json and SafeTensors",
                        folder);
}
