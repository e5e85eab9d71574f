// The reader of SafeTensors on any bytes: the tensors of an accepted file cover its data, a refused
// one comes with a status and a sentence.
#include "hf/safetensors.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t check_tensor(const struct gi_safetensors *files, const struct gi_safetensor *t,
                             uint64_t file_size)
{
    uint64_t n = 1;
    FUZZ_CHECK(t->n_dims <= GI_SAFETENSORS_MAX_DIMS);
    for (uint32_t i = 0; i < GI_SAFETENSORS_MAX_DIMS; i++) {
        FUZZ_CHECK(i < t->n_dims || t->dims[i] == 1);
        n *= t->dims[i];
    }
    FUZZ_CHECK(n == t->n_elements);
    FUZZ_CHECK(t->size * 8 == n * gi_safetensors_type_bits(t->type));
    FUZZ_CHECK(t->offset <= file_size && t->size <= file_size - t->offset);
    FUZZ_CHECK(gi_safetensors_find(files, t->name) == t);
    uint8_t *data = malloc((size_t)t->size + 1);
    FUZZ_CHECK(data && gi_safetensors_read(files, t, 0, (size_t)t->size, data, NULL));
    free(data);
    return t->size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct glinfer_error err = {0};
    struct gi_safetensors *files =
        gi_safetensors_open(GI_SOURCE_MEMORY(data, size, "fuzz.safetensors"), &err);
    if (!files) {
        FUZZ_CHECK(err.status == GLINFER_STATUS_BAD_FILE ||
                   err.status == GLINFER_STATUS_UNSUPPORTED);
        FUZZ_CHECK(strncmp(err.message, "fuzz.safetensors: ", 18) == 0);
        return 0;
    }
    uint64_t total = 0;
    for (size_t i = 0; i < gi_safetensors_count(files); i++) {
        total += check_tensor(files, gi_safetensors_at(files, i), size);
    }
    FUZZ_CHECK(total <= size - 8);
    gi_safetensors_close(files);
    return 0;
}
