// Vocabularies that spell a space as U+2581 (SentencePiece's way), and bytes as <0x0A>.
#pragma once

#include "tokenizer/tokenizer_impl.h"

#define GI_SPACE      "\u2581"
#define GI_SPACE_SIZE (sizeof(GI_SPACE) - 1)

// Returns true if the text has U+2581 at byte i.
bool gi_is_space_at(struct gi_text text, size_t i);
// Turns U+2581 into spaces, in place; returns the bytes that are left.
size_t gi_unescape_spaces(char *text, size_t size);
// Copies a text with its spaces, and one more in front if is_prefixed, as U+2581: *escaped, in
// memory that is returned and the caller's. NULL with NO_MEMORY.
char *gi_escape_spaces(struct gi_text text, bool is_prefixed, struct gi_text *escaped,
                       struct glinfer_error *err);

// Returns the bytes of the character at an offset by its first byte. SentencePiece's text is not
// repaired, so a byte that begins none is a character of its own, and the text may end within one.
size_t gi_character_at(struct gi_text text, size_t offset);

// Returns the token that spells a byte as <0x0A>; negative if the vocabulary has no such token.
int32_t gi_find_byte_token(const struct gi_text_map *ids, uint8_t byte);
// Sets the token of each byte; false if one has none.
bool gi_find_byte_tokens(const struct gi_text_map *ids, int32_t byte_ids[256]);
// Appends a piece: its id or, if that is negative, the tokens of its bytes that have one (byte_ids:
// negative for none).
void gi_encode_piece(struct gi_encoder *encoder, int32_t id, struct gi_text bytes,
                     const int32_t byte_ids[256]);
