/* Forced into a test build of the core: the allocation after `recap_allocations_left` others fails, and so do all later
 * ones until the number is set again. Negative: none fails. */
#include <stdlib.h>

long recap_allocations_left = -1;

#define UNUSED static __attribute__((unused)) /* not every core allocates in every way */

static int allocation_fails(void)
{
    if (recap_allocations_left == 0) return 1;
    if (recap_allocations_left > 0) recap_allocations_left--;
    return 0;
}

UNUSED int faulty_memalign(void **to, size_t unit, size_t size)
{
    return allocation_fails() ? 12 : posix_memalign(to, unit, size);
}

UNUSED void *faulty_malloc(size_t size) { return allocation_fails() ? NULL : malloc(size); }
UNUSED void *faulty_calloc(size_t count, size_t size) { return allocation_fails() ? NULL : calloc(count, size); }
UNUSED void *faulty_realloc(void *old, size_t size) { return allocation_fails() ? NULL : realloc(old, size); }

#define malloc(size) faulty_malloc(size)
#define calloc(count, size) faulty_calloc(count, size)
#define realloc(old, size) faulty_realloc(old, size)
#define posix_memalign(to, unit, size) faulty_memalign(to, unit, size)
