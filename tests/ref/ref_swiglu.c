#include "tests/ref/ref_batch.h"

#include <math.h>

double ref_swiglu(double gate, double up)
{
    return gate / (1 + exp(-gate)) * up;
}
