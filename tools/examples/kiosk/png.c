// PNG (ISO/IEC 15948) with the image data as stored blocks of DEFLATE (RFC 1950, 1951): one block
// for each row.
#include "png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void store32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

// The CRC-32 of ISO 3309, bit by bit.
static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320U : 0);
        }
    }
    return ~crc;
}

// Writes a chunk; data has 4 bytes of room before and after its size bytes.
static bool write_chunk(FILE *file, const char *type, uint8_t *data, uint32_t size)
{
    uint8_t length[4];
    store32(length, size);
    memcpy(data - 4, type, 4);
    store32(data + size, crc32_of(data - 4, size + 4));
    return fwrite(length, 1, 4, file) == 4 && fwrite(data - 4, 1, size + 8, file) == size + 8;
}

// Writes the zlib stream of all rows to `at` and returns its size: 2 bytes, 6 + row_size a row, 4.
static uint32_t store_rows(uint8_t *at, const uint8_t *rgba, uint32_t width, uint32_t height)
{
    const uint32_t row_size = 3 * width;
    uint8_t *const begin = at;
    uint32_t a = 1, b = 0; // of Adler-32
    *at++ = 0x78;
    *at++ = 0x01;
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *pixel = rgba + (size_t)(height - 1 - y) * width * 4;
        const uint32_t size = row_size + 1;
        *at++ = y == height - 1; // the last block
        *at++ = (uint8_t)size;
        *at++ = (uint8_t)(size >> 8);
        *at++ = (uint8_t)~size;
        *at++ = (uint8_t)(~size >> 8);
        for (uint32_t i = 0; i < size; i++) { // a filter byte, 0, and the row
            *at = i ? pixel[(i - 1) / 3 * 4 + (i - 1) % 3] : 0;
            a = (a + *at++) % 65521;
            b = (b + a) % 65521;
        }
    }
    store32(at, b << 16 | a);
    return (uint32_t)(at + 4 - begin);
}

bool png_write(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    uint8_t header[21] = {[12] = 8, [13] = 2}; // 8 bits a channel, RGB
    uint8_t end[8] = {0};
    uint8_t *data = malloc((size_t)height * (6 + 3 * (size_t)width) + 14);
    FILE *file = data ? fopen(path, "wb") : NULL;
    bool ok = file;
    if (ok) {
        store32(header + 4, width);
        store32(header + 8, height);
        const uint32_t size = store_rows(data + 4, rgba, width, height);
        ok = fwrite(signature, 1, 8, file) == 8 && write_chunk(file, "IHDR", header + 4, 13) &&
             write_chunk(file, "IDAT", data + 4, size) && write_chunk(file, "IEND", end + 4, 0);
        ok = fclose(file) == 0 && ok;
    }
    free(data);
    return ok;
}
