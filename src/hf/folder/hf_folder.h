// Opens a folder of Hugging Face as the GGUF file that it stands for.
#pragma once

#include "base/source.h"
#include "gguf/gguf.h"

// Returns true if path is that of a folder.
bool gi_hf_is_folder(const char *path);
// Opens a folder. quantize: the type of large matrices whose elements are BF16, F16 or F32, such as
// "q4_0"; NULL: "q8_0"; "none": they keep their types. The caller ends it with gi_gguf_close. Fails
// with INVALID_ARGUMENT (an unknown quantize), NOT_FOUND (no config.json, a missing file),
// BAD_FILE, UNSUPPORTED (the family, the tokenizer, types of tensors; ONNX or PyTorch files only),
// IO, NO_MEMORY.
struct gi_gguf *gi_hf_open(const char *folder, const char *quantize, struct glinfer_error *err);
// Opens a folder with types only that GGUF files have, for writing one: weights that MLX quantised
// to six or eight bits take the type of other matrices.
struct gi_gguf *gi_hf_open_for_file(const char *folder, const char *quantize,
                                    struct glinfer_error *err);
// Opens a source as gi_hf_open does if its path is that of a folder, else as gi_gguf_open does.
// Fails as they do, with INVALID_ARGUMENT if a folder has an offset or a length.
struct gi_gguf *gi_hf_open_source(const struct glinfer_source *source, struct glinfer_error *err);
