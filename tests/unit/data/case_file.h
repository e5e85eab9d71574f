// Tables of cases in files of tests/unit/data, a line each, for what a test states of many texts.
//
//     # a comment
//     [kind: title]       begins the cases of a kind
//     field ⟶ field       a case
//
// Fields are bytes as they are, but ⏎ is a line end, ⟨FF⟩ a byte in hexadecimal, and ∅ an empty
// field.
#pragma once

#include <stddef.h>

enum { CASE_MAX_FIELDS = 8 };

// Checks a case; fields that the line does not have are NULL.
typedef void case_fn(const char *const fields[CASE_MAX_FIELDS]);

// Calls a function with each case of a kind in tests/unit/data/<file>. Fails the test if the file
// has none.
void each_case(const char *file, const char *kind, case_fn *check);
