#include "speech/mel.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A real transform of WINDOW samples is a complex one of HALF. Cooley and Tukey split that into
// N2 transforms of N1 points, twiddle factors, and N1 transforms of N2 points.
enum { HALF = GI_MEL_WINDOW / 2, N1 = 8, N2 = 25 };
_Static_assert(N1 *N2 == HALF, "the transform has two factors");

struct complex_number {
    double re, im;
};

struct gi_mel {
    uint32_t n_band;
    float *filters;   // (n_band, GI_MEL_N_BINS)
    uint32_t *limits; // (n_band, 2) first bin with a weight, and the one after the last
    double window[GI_MEL_WINDOW];
    struct complex_number roots[GI_MEL_WINDOW]; // exp(-2 pi i k / WINDOW)
};

struct gi_mel *gi_mel_create(const float *filters, uint32_t n_band, struct glinfer_error *err)
{
    struct gi_mel *mel = gi_array_zeroed(1, sizeof(*mel), "a mel spectrogram", err);
    if (!mel) {
        return NULL;
    }
    mel->n_band = n_band;
    if (!GI_ARRAYS_ZEROED("mel filters", err, GI_NEW(mel->filters, (size_t)n_band * GI_MEL_N_BINS),
                          GI_NEW(mel->limits, (size_t)2 * n_band))) {
        gi_mel_destroy(mel);
        return NULL;
    }
    memcpy(mel->filters, filters, n_band * sizeof(float) * GI_MEL_N_BINS);
    for (uint32_t band = 0; band < n_band; band++) {
        const float *row = &mel->filters[(size_t)band * GI_MEL_N_BINS];
        uint32_t begin = 0, end = GI_MEL_N_BINS;
        while (end > 0 && row[end - 1] == 0) {
            end--;
        }
        while (begin < end && row[begin] == 0) {
            begin++;
        }
        mel->limits[(size_t)2 * band] = begin;
        mel->limits[(size_t)2 * band + 1] = end;
    }
    for (int k = 0; k < GI_MEL_WINDOW; k++) {
        const double angle = 2 * acos(-1.0) * k / GI_MEL_WINDOW;
        mel->roots[k] = (struct complex_number){cos(angle), -sin(angle)};
        mel->window[k] = 0.5 - 0.5 * cos(angle);
    }
    return mel;
}

void gi_mel_destroy(struct gi_mel *mel)
{
    if (mel) {
        free(mel->filters);
        free(mel->limits);
        free(mel);
    }
}

uint64_t gi_mel_frame_count(uint64_t n_samples)
{
    return n_samples < HALF ? 0 : 1 + (n_samples - HALF) / GI_MEL_HOP;
}

// Returns sample i, mirrored at the start; 0 after the end and for NaN and infinity.
static double sample_at(const float *samples, size_t n_samples, int64_t i)
{
    const uint64_t place = (uint64_t)(i < 0 ? -i : i);
    return place < n_samples && isfinite(samples[place]) ? (double)samples[place] : 0.0;
}

// sum[j] += factor * row[j] of N1 complex numbers
static void add_scaled(double (*restrict sum)[N1], const double (*restrict row)[N1],
                       struct complex_number factor)
{
    for (int j = 0; j < N1; j++) {
        sum[0][j] += factor.re * row[0][j] - factor.im * row[1][j];
        sum[1][j] += factor.re * row[1][j] + factor.im * row[0][j];
    }
}

// power[k] = |sum over n of x[n] exp(-2 pi i k n / WINDOW)|^2
static void transform(const struct gi_mel *mel, const double *x, double *power)
{
    const struct complex_number *roots = mel->roots;
    double rows[N2][2][N1]; // (n2, re or im, k1)
    for (int n2 = 0; n2 < N2; n2++) {
        memset(rows[n2], 0, sizeof(rows[n2]));
        for (int n1 = 0; n1 < N1; n1++) {
            const double *z =
                &x[(size_t)2 * (N2 * n1 + n2)]; // two real samples are one complex one
            for (int k1 = 0; k1 < N1; k1++) {
                // exp(-2 pi i (n1 k1 / N1 + n2 k1 / HALF))
                const struct complex_number w =
                    roots[(n1 * k1 * (GI_MEL_WINDOW / N1) + n2 * k1 * 2) % GI_MEL_WINDOW];
                rows[n2][0][k1] += w.re * z[0] - w.im * z[1];
                rows[n2][1][k1] += w.re * z[1] + w.im * z[0];
            }
        }
    }
    double z[2][HALF];
    for (size_t k2 = 0; k2 < N2; k2++) {
        double sum[2][N1] = {{0}};
        for (size_t n2 = 0; n2 < N2; n2++) {
            add_scaled(sum, (const double(*)[N1])rows[n2],
                       roots[n2 * k2 * (GI_MEL_WINDOW / N2) % GI_MEL_WINDOW]);
        }
        memcpy(&z[0][N1 * k2], sum[0], sizeof(sum[0]));
        memcpy(&z[1][N1 * k2], sum[1], sizeof(sum[1]));
    }
    for (int k = 0; k <= HALF; k++) {
        const int a = k % HALF, b = (HALF - k) % HALF;
        const struct complex_number even = {z[0][a] + z[0][b], z[1][a] - z[1][b]};
        const struct complex_number odd = {z[1][a] + z[1][b], z[0][b] - z[0][a]};
        const double re = (even.re + roots[k].re * odd.re - roots[k].im * odd.im) / 2;
        const double im = (even.im + roots[k].re * odd.im + roots[k].im * odd.re) / 2;
        power[k] = re * re + im * im;
    }
}

void gi_mel_frames(const struct gi_mel *mel, const float *samples, size_t n_samples, size_t first,
                   size_t n, float *out)
{
    for (size_t frame = first; frame < first + n; frame++, out += mel->n_band) {
        const int64_t begin = (int64_t)(frame * GI_MEL_HOP) - GI_MEL_WINDOW / 2;
        double x[GI_MEL_WINDOW], power[GI_MEL_N_BINS];
        for (int i = 0; i < GI_MEL_WINDOW; i++) {
            x[i] = mel->window[i] * sample_at(samples, n_samples, begin + i);
        }
        transform(mel, x, power);
        for (uint32_t band = 0; band < mel->n_band; band++) {
            const float *row = &mel->filters[(size_t)band * GI_MEL_N_BINS];
            const uint32_t *limits = &mel->limits[(size_t)2 * band];
            double sum = 0;
            for (uint32_t k = limits[0]; k < limits[1]; k++) {
                sum += (double)row[k] * power[k];
            }
            out[band] = (float)log10(sum > 1e-10 ? sum : 1e-10);
        }
    }
}

void gi_mel_scale(float *values, size_t count, float loudest)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = (fmaxf(values[i], loudest - 8) + 4) / 4;
    }
}
