// Softmax as the kernels of attention share it. Needs lib/exp_log.glsl.
#define MASKED -3.0e38 // the score of a key that is not seen

// Returns the weight of a key relative to the largest score; 0 for a masked one.
float weight_of(float score, float largest)
{
    return score == MASKED ? 0.0 : exp_negative(score - largest);
}

// Returns an integer that is larger where x is; value_of is its inverse.
int order_of(float x)
{
    int i = floatBitsToInt(x);
    return i ^ ((i >> 31) & 0x7FFFFFFF);
}

float value_of(int i)
{
    return intBitsToFloat(i ^ ((i >> 31) & 0x7FFFFFFF));
}
