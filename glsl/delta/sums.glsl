// Three sums over a group, in all invocations. May be called once: no barrier follows the reads of the
// sums.
shared float sums_x[WG_SIZE], sums_y[WG_SIZE], sums_z[WG_SIZE];

vec3 sum_all(vec3 own)
{
    uint lane = gl_LocalInvocationIndex;
    sums_x[lane] = own.x;
    sums_y[lane] = own.y;
    sums_z[lane] = own.z;
    group_barrier();
    for (uint n = uint(WG_SIZE) / 2u; n > 0u; n /= 2u) {
        if (lane < n) {
            sums_x[lane] += sums_x[lane + n];
            sums_y[lane] += sums_y[lane + n];
            sums_z[lane] += sums_z[lane + n];
        }
        group_barrier();
    }
    return vec3(sums_x[0], sums_y[0], sums_z[0]);
}
