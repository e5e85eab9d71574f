// Finds the files that tests read, when they run: a build may be used where it was not configured.
#pragma once

// Returns the path of a file of the folder tests, such as "data/models/tiny-q4_0.gguf".
// GLINFER_TEST_DATA names that folder; by default it is the one of the sources that were built.
// Valid until the next call.
const char *test_data(const char *file);

// Returns the path of a model that tools/fetch-model keeps, such as
// "SmolLM2-135M-Instruct.Q4_1.gguf", whether it is there or not; GLINFER_TEST_MODEL takes the place
// of this one. Valid until the next call.
const char *test_model(const char *file);
