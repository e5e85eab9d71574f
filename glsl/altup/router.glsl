// The router of AltUp: four numbers of a token by which its streams are mixed,
//   modalities = tanh(R (x / sqrt(mean(x^2) + eps) * gamma) / n_embd)
// Includers have vectors, with gamma at params.router_norm and R (4, n_embd) at params.router, params.eps
// and n_quad, the quads of a row.

// Returns the addend of a quad of x to R (x * gamma).
vec4 router_dots(uint quad, vec4 value)
{
    uint at = params.router / 4u + quad;
    vec4 normed = value * vectors[params.router_norm / 4u + quad];
    return vec4(dot(normed, vectors[at]), dot(normed, vectors[at + n_quad()]),
                dot(normed, vectors[at + 2u * n_quad()]), dot(normed, vectors[at + 3u * n_quad()]));
}

// tanh of some drivers overflows.
vec4 modalities(vec4 dots, float squares)
{
    float n = 4.0 * float(n_quad());
    return tanh(clamp(dots * inversesqrt(squares / n + params.eps) / n, -15.0, 15.0));
}
