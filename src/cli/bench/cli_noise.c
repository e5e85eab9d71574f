#include "cli/bench/cli_noise.h"

#include <math.h>

// Returns the two-sided 95 % quantile of Student's t.
static double student_95(double freedom)
{
    static const double small[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
    if (freedom < 10) {
        return small[freedom < 1 ? 0 : (int)freedom - 1];
    }
    return 1.960 + 2.45 / freedom; // within 0.03 of the table
}

// Welch's test: B. L. Welch, "The generalization of Student's problem when several different
// population variances are involved", Biometrika 34, 1947.
enum cli_verdict cli_noise_judge(const struct cli_sample *before, const struct cli_sample *now,
                                 double *noise)
{
    *noise = 0;
    if (before->n < CLI_NOISE_RUNS || now->n < CLI_NOISE_RUNS) {
        return CLI_VERDICT_UNKNOWN;
    }
    const double a = before->stddev * before->stddev / (double)before->n;
    const double b = now->stddev * now->stddev / (double)now->n;
    const double error = a + b;
    if (error > 0) {
        const double freedom =
            error * error / (a * a / ((double)before->n - 1) + b * b / ((double)now->n - 1));
        *noise = student_95(freedom) * sqrt(error);
    }
    const double difference = now->mean - before->mean;
    if (fabs(difference) <= *noise) {
        return CLI_VERDICT_SAME;
    }
    return difference > 0 ? CLI_VERDICT_MORE : CLI_VERDICT_LESS;
}
