// The activation of a network; ops/record/activation.h numbers ACTIVATION. For floats and vectors, the
// first two f(x) = x / (1 + exp(-g)):
//   0 silu          g = x
//   1 gelu_tanh     g = 2 sqrt(2 / pi) (x + 0.044715 x^3): x (1 + tanh(g / 2)) / 2, the approximation of GELU
//   2 relu_squared  max(x, 0)^2
//   3 clamped       x / (1 + exp(-1.702 x)), x at most 7; the other factor lies in -7 to 7, plus 1
//   4 relu          max(x, 0)
//   5 xielu         square max(x, 0)^2 + slope x, below 0 plus fall (exp(min(x, edge)) - 1 - x), by
//                   numbers of the layer, which Params then has
//   6 gelu_erf      x (1 + erf(x / sqrt(2))) / 2: GELU as it is defined
// The other factor of a gated network goes through linear_factor.
#ifndef ACTIVATION
#error "ACTIVATION: 0 silu, 1 gelu_tanh, 2 relu_squared, 3 clamped, 4 relu, 5 xielu, 6 gelu_erf"
#endif

#if ACTIVATION == 0
#define activate(x) ((x) / (1.0 + exp(-(x))))
#elif ACTIVATION == 1
#define activate(x) ((x) / (1.0 + exp(-1.5957691216057308 * (x) * (1.0 + 0.044715 * (x) * (x)))))
#elif ACTIVATION == 2
#define activate(x) (max(x, 0.0) * max(x, 0.0))
#elif ACTIVATION == 4
#define activate(x) max(x, 0.0)
#elif ACTIVATION == 5
#define activate(x)                                                                                \
    (params.square * max(x, 0.0) * max(x, 0.0) + params.slope * (x) +                              \
     params.fall * (exp(min(x, params.edge)) - 1.0 - (x)) * step(x, 0.0 * (x)))
#elif ACTIVATION == 6
// erfc(|x| / sqrt(2)) = t exp(-x x / 2 + p(t)), t = 1 / (1 + |x| / sqrt(8)), with a relative error
// below 1.2e-7.
//   Press et al., Numerical Recipes, section 6.2
#define ERFC_T(x) (1.0 / (1.0 + 0.35355339059327376 * abs(x)))
#define ERFC_P(t)                                                                                  \
    (-1.26551223 + (t) * (1.00002368 + (t) * (0.37409196 + (t) * (0.09678418 +                     \
     (t) * (-0.18628806 + (t) * (0.27886807 + (t) * (-1.13520398 + (t) * (1.48851587 +             \
     (t) * (-0.82215223 + (t) * 0.17087277)))))))))
#define activate(x)                                                                                \
    (max(x, 0.0) - 0.5 * abs(x) * ERFC_T(x) * exp(-0.5 * (x) * (x) + ERFC_P(ERFC_T(x))))
#else
#define activate(x) (min(x, 7.0) / (1.0 + exp(-1.702 * min(x, 7.0))))
#endif

#if ACTIVATION == 3
#define linear_factor(x) (clamp(x, -7.0, 7.0) + 1.0)
#else
#define linear_factor(x) (x)
#endif
