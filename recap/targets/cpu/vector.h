/* One set of vector instructions, chosen by LANES, TARGET, SUFFIX and FUSED before this file is included.
 *
 * Everything is written with the compilers' own vectors. Only the fused multiply-add is named by its instruction: whether
 * a product is rounded before it is added must never be the compiler's choice. */

typedef float NAME(Vector) __attribute__((vector_size(LANES * 4)));
typedef int32_t NAME(Integers) __attribute__((vector_size(LANES * 4)));
typedef float NAME(Unaligned) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t NAME(UnalignedIntegers) __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define Vector NAME(Vector)
#define Integers NAME(Integers)
#define KERNEL TARGET static
#define INLINE TARGET static inline __attribute__((always_inline))

INLINE Vector NAME(load)(const float *from) { return (Vector) * (const NAME(Unaligned) *)from; }

INLINE void NAME(store)(float *to, Vector value) { *(NAME(Unaligned) *)to = (NAME(Unaligned))value; }

INLINE Vector NAME(all)(float value) { return value - (Vector){0}; }

INLINE Vector NAME(either)(Integers chosen, Vector yes, Vector no)
{
    return (Vector)(((Integers)yes & chosen) | ((Integers)no & ~chosen));
}

/* The lanes' sum, always in the same order. */
INLINE float NAME(sum)(Vector value)
{
    float lanes[LANES], sum = 0.0f;
    NAME(store)(lanes, value);
    for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
    return sum;
}

INLINE float NAME(largest)(Vector value)
{
    float lanes[LANES], largest;
    NAME(store)(lanes, value);
    largest = lanes[0];
    for (int lane = 1; lane < LANES; lane++) largest = lanes[lane] > largest ? lanes[lane] : largest;
    return largest;
}

INLINE int NAME(any)(Integers chosen)
{
    int32_t lanes[LANES], any = 0;
    *(NAME(UnalignedIntegers) *)lanes = (NAME(UnalignedIntegers))chosen;
    for (int lane = 0; lane < LANES; lane++) any |= lanes[lane];
    return any != 0;
}

/* e^x within two units in the last place; 0 below -87, e^88 above 88, NaN for NaN. Coefficients: Cephes' expf. */
INLINE Vector NAME(exp)(Vector x)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    Vector tiny = (Vector)(x < NAME(all)(-87.0f));
    x = NAME(either)(x > NAME(all)(88.0f), NAME(all)(88.0f), x);
    Vector shifted = FUSED(x, NAME(all)(1.44269504088896341f), NAME(all)(magic));
    Vector whole = shifted - NAME(all)(magic);
    Vector rest = FUSED(whole, NAME(all)(-0.693359375f), x);
    rest = FUSED(whole, NAME(all)(2.12194440e-4f), rest);
    Vector sum = NAME(all)(1.9875691500e-4f);
    sum = FUSED(sum, rest, NAME(all)(1.3981999507e-3f));
    sum = FUSED(sum, rest, NAME(all)(8.3334519073e-3f));
    sum = FUSED(sum, rest, NAME(all)(4.1665795894e-2f));
    sum = FUSED(sum, rest, NAME(all)(1.6666665459e-1f));
    sum = FUSED(sum, rest, NAME(all)(5.0000001201e-1f));
    sum = FUSED(sum, rest * rest, rest) + NAME(all)(1.0f);
    Integers power = ((Integers)shifted - (Integers)NAME(all)(magic) + 127) << 23;
    return (Vector)((Integers)(sum * (Vector)power) & ~(Integers)tiny);
}
