/* The same kernels for every set of instructions, and the choice among them when a model is made. */
#ifndef RECAP_INSTRUCTIONS_H
#define RECAP_INSTRUCTIONS_H

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "pass.h"

#define JOIN_(name, suffix) name##_##suffix
#define JOIN(name, suffix) JOIN_(name, suffix)
#define NAME(name) JOIN(name, SUFFIX)
#define MAX_GROUP 16 /* query heads that share a key head */

/* 16 registers: six rows of two vectors are summed while weights and one number of a row are at hand. */
#define SMALL_TILES TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1) TILE(1, 2) TILE(2, 2)
#define SMALL_TABLE                                                                                                  \
    NAME(tile_1_1), NAME(tile_2_1), NAME(tile_3_1), NAME(tile_4_1), NAME(tile_5_1), NAME(tile_6_1)
#define SMALL_BROAD                                                                                                  \
    NAME(tile_1_2), NAME(tile_2_2), NAME(tile_3_1), NAME(tile_4_1), NAME(tile_5_1), NAME(tile_6_1)
#define SMALL_PANELS 2, 2, 1, 1, 1, 1

#if defined(__x86_64__)
#define LANES 8
#define SUFFIX avx2
#define INSTRUCTIONS "avx2"
#define TARGET __attribute__((target("avx2,fma")))
#define FUSED(a, b, c) ((Vector)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define REACHES(x, least) _mm256_movemask_ps(_mm256_cmp_ps((__m256)(x), _mm256_set1_ps(least), _CMP_GE_OQ))
#define MAX_ROWS 6
#define MAX_PANELS 2
#define TILES SMALL_TILES
#define TILE_TABLE SMALL_TABLE
#define BROAD_TABLE SMALL_BROAD
#define BROAD_PANELS SMALL_PANELS
#include "kernels.h"

#define LANES 16
#define SUFFIX avx512
#define INSTRUCTIONS "avx512"
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define FUSED(a, b, c) ((Vector)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define REACHES(x, least) _mm512_cmp_ps_mask((__m512)(x), _mm512_set1_ps(least), _CMP_GE_OQ)
#define MAX_ROWS 12
#define MAX_PANELS 2
#define TILES                                                                                                        \
    SMALL_TILES TILE(7, 1) TILE(8, 1) TILE(9, 1) TILE(10, 1) TILE(11, 1) TILE(12, 1) TILE(3, 2)  \
    TILE(4, 2) TILE(5, 2) TILE(6, 2)
#define TILE_TABLE                                                                                                   \
    SMALL_TABLE, NAME(tile_7_1), NAME(tile_8_1), NAME(tile_9_1), NAME(tile_10_1), NAME(tile_11_1), NAME(tile_12_1)
#define BROAD_TABLE                                                                                                  \
    NAME(tile_1_2), NAME(tile_2_2), NAME(tile_3_2), NAME(tile_4_2), NAME(tile_5_2), NAME(tile_6_2), NAME(tile_7_1),  \
        NAME(tile_8_1), NAME(tile_9_1), NAME(tile_10_1), NAME(tile_11_1), NAME(tile_12_1)
#define BROAD_PANELS 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1
#include "kernels.h"
#endif

/* For every other processor. The order of sums is as fixed; products are rounded before they are added where the
 * processor has no fused multiply-add. */
#ifndef PORTABLE_LANES
#define PORTABLE_LANES 4
#endif
#define LANES PORTABLE_LANES
#define SUFFIX portable
#define INSTRUCTIONS "portable"
#define TARGET
#if defined(__aarch64__) && PORTABLE_LANES == 4
#define FUSED(a, b, c) ((Vector)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif
#define REACHES(x, least) NAME(any)((x) >= NAME(all)(least))
#define MAX_ROWS 6
#define MAX_PANELS 2
#define TILES SMALL_TILES
#define TILE_TABLE SMALL_TABLE
#define BROAD_TABLE SMALL_BROAD
#define BROAD_PANELS SMALL_PANELS
#include "kernels.h"

/* The best set that this processor has, or the one that is named; NULL if it has not. */
static const struct Instructions *instructions_find(const char *name)
{
    const struct Instructions *known[] = {
#if defined(__x86_64__)
        __builtin_cpu_supports("avx512f") ? &instructions_avx512 : NULL,
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &instructions_avx2 : NULL,
#endif
        &instructions_portable,
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] && (!*name || !strcmp(name, known[i]->name))) return known[i];
    return NULL;
}

#endif
