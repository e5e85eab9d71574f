// A font of capitals, digits and signs, 5 x 7 pixels a character, kept as bits. Owns nothing.
#pragma once

#include <stdint.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 7, FONT_FIRST = ' ', FONT_COUNT = 64 };

// The rows of each character from the top, the leftmost pixel in bit 4: (FONT_COUNT, FONT_HEIGHT).
extern const uint8_t font_rows[FONT_COUNT][FONT_HEIGHT];
