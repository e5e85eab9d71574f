#include "tests/ref/ref_batch.h"

#include <math.h>

static double angle_of(size_t pair, size_t n_rot, double rate, double position)
{
    return position * pow(rate, -2.0 * (double)pair / (double)n_rot);
}

void ref_rope(const float *head, size_t head_dim, size_t n_rot, double rate, double position,
              double *turned, double *magnitude)
{
    for (size_t i = 0; i < head_dim / 2; i++) {
        double first = head[2 * i], second = head[2 * i + 1];
        double angle = i < n_rot / 2 ? angle_of(i, n_rot, rate, position) : 0;
        turned[2 * i] = first * cos(angle) - second * sin(angle);
        turned[2 * i + 1] = first * sin(angle) + second * cos(angle);
        magnitude[2 * i] = magnitude[2 * i + 1] = fabs(first) + fabs(second);
    }
}

void ref_rope_table(size_t n_rot, double rate, double position, float *row)
{
    for (size_t i = 0; i < n_rot / 2; i++) {
        double angle = angle_of(i, n_rot, rate, position);
        row[2 * i] = (float)cos(angle);
        row[2 * i + 1] = (float)sin(angle);
    }
}
