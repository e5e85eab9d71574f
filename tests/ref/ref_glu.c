#include "tests/ref/ref_batch.h"

#include <math.h>

double ref_glu(double gate, double up, enum ref_activation activation)
{
    const double pi = 3.14159265358979323846;
    double argument = gate;
    if (activation == REF_CLAMPED) {
        const double h = fmin(gate, 7);
        return h / (1 + exp(-1.702 * h)) * (fmin(fmax(up, -7), 7) + 1);
    }
    if (activation == REF_RELU_SQUARED) {
        return gate > 0 ? gate * gate * up : 0;
    }
    if (activation == REF_RELU) {
        return fmax(gate, 0) * up;
    }
    if (activation == REF_XIELU) {
        const double b = ref_xielu[1] * gate;
        return (gate > 0 ? ref_xielu[0] * gate * gate + b
                         : ref_xielu[2] * (expm1(fmin(gate, ref_xielu[3])) - gate) + b) *
               up;
    }
    if (activation == REF_GELU) { // (1 + tanh(a)) / 2 = 1 / (1 + exp(-2 a))
        argument = 2 * sqrt(2 / pi) * (gate + 0.044715 * gate * gate * gate);
    }
    return gate / (1 + exp(-argument)) * up;
}
