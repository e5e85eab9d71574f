#include "tests/ref/ref_batch.h"

#include <math.h>

double ref_glu(double gate, double up, bool is_gelu)
{
    const double pi = 3.14159265358979323846;
    double argument = gate;
    if (is_gelu) { // (1 + tanh(a)) / 2 = 1 / (1 + exp(-2 a))
        argument = 2 * sqrt(2 / pi) * (gate + 0.044715 * gate * gate * gate);
    }
    return gate / (1 + exp(-argument)) * up;
}
