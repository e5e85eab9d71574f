#include "speech/window/word_times.h"

#include "base/array.h"
#include "base/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_FILTER = 7, // of the median over time
    POSITION = 2, // frames
};

//-- heads -------------------------------------------------------------------------------------

struct head {
    uint16_t layer, head;
};

// A model is told by its decoder and its vocabulary. large-v1 has the shape of large-v2.
static const struct heads {
    uint32_t n_layer, n_head, n_vocab;
    const struct head *heads;
    uint32_t n;
} models[] = {
#define HEADS(...)                                                                                 \
    (const struct head[]){__VA_ARGS__},                                                            \
        sizeof((const struct head[]){__VA_ARGS__}) / sizeof(struct head)
    // tiny.en, tiny
    {4, 6, 51864, HEADS({1, 0}, {2, 0}, {2, 5}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 4})},
    {4, 6, 51865, HEADS({2, 2}, {3, 0}, {3, 2}, {3, 3}, {3, 4}, {3, 5})},
    // base.en, base
    {6, 8, 51864, HEADS({3, 3}, {4, 7}, {5, 1}, {5, 5}, {5, 7})},
    {6, 8, 51865, HEADS({3, 1}, {4, 2}, {4, 3}, {4, 7}, {5, 1}, {5, 2}, {5, 4}, {5, 6})},
    // small.en, small
    {12, 12, 51864,
     HEADS({6, 6}, {7, 0}, {7, 3}, {7, 8}, {8, 2}, {8, 5}, {8, 7}, {9, 0}, {9, 4}, {9, 8}, {9, 10},
           {10, 0}, {10, 1}, {10, 2}, {10, 3}, {10, 6}, {10, 11}, {11, 2}, {11, 4})},
    {12, 12, 51865,
     HEADS({5, 3}, {5, 9}, {8, 0}, {8, 4}, {8, 7}, {8, 8}, {9, 0}, {9, 7}, {9, 9}, {10, 5})},
    // medium.en, medium
    {24, 16, 51864,
     HEADS({11, 4}, {14, 1}, {14, 12}, {14, 14}, {15, 4}, {16, 0}, {16, 4}, {16, 9}, {17, 12},
           {17, 14}, {18, 7}, {18, 10}, {18, 15}, {20, 0}, {20, 3}, {20, 9}, {20, 14}, {21, 12})},
    {24, 16, 51865, HEADS({13, 15}, {15, 4}, {15, 15}, {16, 1}, {20, 0}, {23, 4})},
    // large-v2, large-v3, large-v3-turbo
    {32, 20, 51865,
     HEADS({10, 12}, {13, 17}, {16, 11}, {16, 12}, {16, 13}, {17, 15}, {17, 16}, {18, 4}, {18, 11},
           {18, 19}, {19, 11}, {21, 2}, {21, 3}, {22, 3}, {22, 9}, {22, 12}, {23, 5}, {23, 7},
           {23, 13}, {25, 5}, {26, 1}, {26, 12}, {27, 15})},
    {32, 20, 51866,
     HEADS({7, 0}, {10, 17}, {12, 18}, {13, 12}, {16, 1}, {17, 14}, {19, 11}, {21, 4}, {24, 1},
           {25, 6})},
    {4, 20, 51866, HEADS({2, 4}, {2, 11}, {3, 3}, {3, 6}, {3, 11}, {3, 14})},
};

// Returns head i of a model; false after the last. Models that are not in the table use all heads
// of the upper half of their layers.
static bool find_head(const struct gi_speech_net *net, uint32_t i, struct head *head)
{
    for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
        const struct heads *model = &models[m];
        if (model->n_layer == net->n_layer && model->n_head == net->n_head &&
            model->n_vocab == net->n_vocab) {
            *head = i < model->n ? model->heads[i] : (struct head){0};
            return i < model->n;
        }
    }
    const uint32_t layer = net->n_layer / 2 + i / net->n_head;
    *head = (struct head){(uint16_t)layer, (uint16_t)(i % net->n_head)};
    return layer < net->n_layer;
}

//-- attention ---------------------------------------------------------------------------------

static float median(const float *row, uint32_t n, uint32_t place)
{
    float sorted[N_FILTER];
    for (int i = 0; i < N_FILTER; i++) {
        int64_t at = (int64_t)place + i - N_FILTER / 2; // mirrored at both ends
        at = at < 0 ? -at : at;
        at = at >= (int64_t)n ? 2 * ((int64_t)n - 1) - at : at;
        const float value = row[at < 0 ? 0 : at];
        int j = i;
        for (; j > 0 && sorted[j - 1] > value; j--) {
            sorted[j] = sorted[j - 1];
        }
        sorted[j] = value;
    }
    return sorted[N_FILTER / 2];
}

// Adds one head's weights (n_row, stride) to matrix (n_row, n): rows are scaled to the sum 1,
// columns to mean 0 and deviation 1, and rows are smoothed.
static void add_head(float *weights, uint32_t n_row, uint32_t stride, uint32_t n, float *matrix)
{
    for (uint32_t row = 0; row < n_row; row++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            sum += (double)weights[row * stride + i];
        }
        for (uint32_t i = 0; i < n && sum > 0; i++) {
            weights[row * stride + i] = (float)((double)weights[row * stride + i] / sum);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        double mean = 0, square = 0;
        for (uint32_t row = 0; row < n_row; row++) {
            mean += (double)weights[row * stride + i] / n_row;
        }
        for (uint32_t row = 0; row < n_row; row++) {
            const double x = (double)weights[row * stride + i] - mean;
            square += x * x / n_row;
        }
        for (uint32_t row = 0; row < n_row && square > 0; row++) {
            const double x = (double)weights[row * stride + i] - mean;
            weights[row * stride + i] = (float)(x / sqrt(square));
        }
    }
    for (uint32_t row = 0; row < n_row; row++) {
        for (uint32_t i = 0; i < n; i++) {
            matrix[(size_t)row * n + i] += median(&weights[(size_t)row * stride], n, i);
        }
    }
}

//-- time warp ---------------------------------------------------------------------------------

bool gi_time_warp(const float *cost, uint32_t n_row, uint32_t n_column, uint32_t *begins,
                  struct glinfer_error *err)
{
    enum { BOTH, ROW, COLUMN }; // the step that leads to an element
    const uint32_t width = n_column + 1;
    double *total;
    uint8_t *steps;
    if (!GI_ARRAYS_ZEROED("times of words", err, GI_NEW(total, (size_t)2 * width),
                          GI_NEW(steps, (size_t)n_row * n_column))) {
        return false;
    }
    double *above = total, *here = total + width;
    for (uint32_t i = 1; i < width; i++) {
        above[i] = (double)INFINITY;
    }
    for (uint32_t row = 0; row < n_row; row++) {
        here[0] = (double)INFINITY;
        for (uint32_t i = 0; i < n_column; i++) {
            const double both = above[i], up = above[i + 1], left = here[i];
            const int step = both < up && both < left ? BOTH
                             : up < both && up < left ? ROW
                                                      : COLUMN;
            here[i + 1] = (double)cost[row * n_column + i] + (step == BOTH  ? both
                                                              : step == ROW ? up
                                                                            : left);
            steps[(size_t)row * n_column + i] = (uint8_t)step;
        }
        double *swap = above;
        above = here;
        here = swap;
    }
    uint32_t row = n_row - 1, column = n_column - 1;
    while (row > 0 || column > 0) {
        const uint8_t step = column == 0 ? ROW
                             : row == 0  ? COLUMN
                                         : steps[(size_t)row * n_column + column];
        if (step != COLUMN) {
            begins[row--] = column;
        }
        column -= step != ROW;
    }
    begins[0] = 0;
    free(total);
    free(steps);
    return true;
}

//-- tokens ------------------------------------------------------------------------------------

// Sums up all heads: matrix (n_row, n) becomes the cost of hearing token `row` at position i.
static bool find_cost(const struct gi_speech_net *net, uint32_t n_row, uint32_t stride, uint32_t n,
                      float *weights, float *matrix)
{
    struct head head;
    for (uint32_t i = 0; find_head(net, i, &head); i++) {
        if (!net->align(net->user, head.layer, head.head, weights)) {
            return false;
        }
        add_head(weights, n_row, stride, n, matrix);
    }
    for (size_t i = 0; i < (size_t)n_row * n; i++) {
        matrix[i] = -matrix[i];
    }
    return true;
}

bool gi_word_times_find(const struct gi_speech_net *net, uint32_t n_before, uint32_t n_text,
                        uint32_t n_frame, uint32_t n_sound, struct gi_token_time *times)
{
    const uint32_t n_row = n_before + n_text + 1, stride = n_frame / POSITION;
    const uint32_t n = gi_min_u32(gi_max_u32(n_sound / POSITION, 1), stride);
    float *weights, *matrix;
    uint32_t *begins;
    bool is_ok =
        GI_ARRAYS_ZEROED("times of words", net->failure, GI_NEW(weights, (size_t)n_row * stride),
                         GI_NEW(matrix, (size_t)n_row * n), GI_NEW(begins, n_row)) &&
        find_cost(net, n_row, stride, n, weights, matrix);
    // The row of a token tells where the network looked to say the one after it.
    const uint32_t first = n_before - 1;
    is_ok = is_ok && gi_time_warp(&matrix[(size_t)first * n], n_text + 1, n, begins, net->failure);
    for (uint32_t i = 0; is_ok && i < n_text; i++) {
        times[i] = (struct gi_token_time){POSITION * begins[i], POSITION * begins[i + 1]};
    }
    free(weights);
    free(matrix);
    free(begins);
    return is_ok;
}
