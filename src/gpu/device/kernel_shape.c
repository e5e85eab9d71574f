#include "gpu/device/kernel_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    struct gi_gemv_shape shape; // defaults of omitted numbers
} gemv_forms[GI_GEMV_FORM_COUNT] = {
    [GI_GEMV_FORM_SPLIT] = {"split", {GI_GEMV_FORM_SPLIT, 128, 1, 0}},
    [GI_GEMV_FORM_F16] = {"f16", {GI_GEMV_FORM_F16, 128, 1, 0}},
    [GI_GEMV_FORM_ROW] = {"row", {GI_GEMV_FORM_ROW, 64, 1, 0}},
    [GI_GEMV_FORM_TEXEL] = {"texel", {GI_GEMV_FORM_TEXEL, 8, 4, 0}},
    [GI_GEMV_FORM_HALVES] = {"halves", {GI_GEMV_FORM_HALVES, 64, 1, 0}},
    [GI_GEMV_FORM_BYTES] = {"bytes", {GI_GEMV_FORM_BYTES, 64, 1, 0}},
    [GI_GEMV_FORM_PLACES] = {"places", {GI_GEMV_FORM_PLACES, 64, 1, 0}},
    [GI_GEMV_FORM_TEXBITS] = {"texbits", {GI_GEMV_FORM_TEXBITS, 64, 1, 0}},
};

// Reads ":number" from the front of a text if it is there. Returns the rest of the text.
static const char *parse_number(const char *text, uint32_t *number)
{
    if (*text != ':' || text[1] < '0' || text[1] > '9') {
        return text;
    }
    char *end;
    *number = (uint32_t)strtoul(text + 1, &end, 10);
    return end;
}

bool gi_gemv_shape_parse(const char *text, struct gi_gemv_shape *shape)
{
    for (size_t i = 0; text && i < GI_GEMV_FORM_COUNT; i++) {
        const size_t size = strlen(gemv_forms[i].name);
        if (strncmp(text, gemv_forms[i].name, size) == 0) {
            *shape = gemv_forms[i].shape;
            const char *rest = parse_number(text + size, &shape->wg_size);
            rest = parse_number(rest, &shape->pairs);
            return *parse_number(rest, &shape->max_groups) == 0;
        }
    }
    return false;
}

void gi_gemv_shape_write(const struct gi_gemv_shape *shape, char *text, size_t size)
{
    snprintf(text, size, "%s:%u:%u:%u", gemv_forms[shape->form].name, shape->wg_size, shape->pairs,
             shape->max_groups);
}

bool gi_gemv_batch_shape_parse(const char *text, struct gi_gemv_batch_shape *shape)
{
    int end = 0;
    // NOLINTNEXTLINE(cert-err34-c): a number that is too large yields an impossible shape
    return sscanf(text, "few:%u:%u:%u:%u%n", &shape->wg_size, &shape->pairs, &shape->lane_pairs,
                  &shape->tokens, &end) == 4 &&
           text[end] == 0;
}

bool gi_batch_form_parse(const char *text, enum gi_batch_form *form)
{
    static const char *const names[] = {
        [GI_BATCH_FORM_SPLIT] = "split",
        [GI_BATCH_FORM_LANE] = "lane",
        [GI_BATCH_FORM_ROW] = "row",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *form = (enum gi_batch_form)i;
            return true;
        }
    }
    return false;
}

const char *gi_gemm_tile_name(enum gi_gemm_tile tile)
{
    static const char *const names[GI_GEMM_TILE_COUNT] = {
        [GI_GEMM_TILE_NARROW] = "narrow",    [GI_GEMM_TILE_THIN] = "thin",
        [GI_GEMM_TILE_SHORT] = "short",      [GI_GEMM_TILE_LOW] = "low",
        [GI_GEMM_TILE_ROLLED] = "rolled",    [GI_GEMM_TILE_WHOLE] = "64x64",
        [GI_GEMM_TILE_SLICED] = "64x64:3",   [GI_GEMM_TILE_SMALL] = "32x64:2",
        [GI_GEMM_TILE_2X8] = "2x8",          [GI_GEMM_TILE_4X6] = "4x6",
        [GI_GEMM_TILE_4X8] = "4x8",          [GI_GEMM_TILE_HALVED] = "64x64:2",
        [GI_GEMM_TILE_HALF] = "64x64",       [GI_GEMM_TILE_HALF_SLICED] = "64x64:2",
        [GI_GEMM_TILE_HALF_TALL] = "128x64", [GI_GEMM_TILE_HALF_NARROW] = "64x32:4",
    };
    return names[tile];
}

bool gi_gemm_tile_parse(const char *text, bool is_half, enum gi_gemm_tile *tile)
{
    for (*tile = 0; text && *tile < GI_GEMM_TILE_COUNT; ++*tile) {
        if (gi_gemm_tile_is_half(*tile) == is_half && strcmp(text, gi_gemm_tile_name(*tile)) == 0) {
            return true;
        }
    }
    return false;
}
