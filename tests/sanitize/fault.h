/* Forced into a test build of the core: the allocation after `recap_allocations_left` others fails, and so do all later
 * ones until the number is set again. Negative: none fails. */
#include <stdlib.h>

long recap_allocations_left = -1;

static int allocation_fails(void)
{
    if (recap_allocations_left == 0) return 1;
    if (recap_allocations_left > 0) recap_allocations_left--;
    return 0;
}

static void *faulty_malloc(size_t size) { return allocation_fails() ? NULL : malloc(size); }
static void *faulty_calloc(size_t count, size_t size) { return allocation_fails() ? NULL : calloc(count, size); }
static void *faulty_realloc(void *old, size_t size) { return allocation_fails() ? NULL : realloc(old, size); }

#define malloc(size) faulty_malloc(size)
#define calloc(count, size) faulty_calloc(count, size)
#define realloc(old, size) faulty_realloc(old, size)
