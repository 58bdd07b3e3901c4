/* Memories of rows (paper, section 3.3): flat rows in pages behind an open-addressing table.
 *
 * A row is `stride` words: the key (1, 2 or 3 token ids), exp(-entropy), K ids, K probabilities. Pages are never moved,
 * so growing copies only the table, and a full-vocabulary U has no doubling slack. A memory may stand in front of
 * another one (base.h), which answers for the keys that it lacks and is never written through it.
 */
#ifndef RECAP_ROWS_H
#define RECAP_ROWS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS 10
#define PAGE_ROWS (1u << PAGE_BITS)
#define INDEX_BITS 24 /* a slot is an 8-bit tag of the hash above a row number counted from 1; 0 means empty */
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define FIRST_TABLE_BITS 6

typedef union {
    int32_t id;
    float number;
} Word;

typedef struct Memory {
    int order; /* tokens in a key */
    int top_k;
    size_t stride;
    uint32_t count;
    int table_bits; /* 0 while nothing is allocated */
    uint32_t *slots;
    uint32_t page_count, page_room;
    Word **pages;
    const struct Memory *behind; /* shared, read-only, not owned; NULL for none */
} Memory;

static void memory_init(Memory *m, int order, int top_k)
{
    memset(m, 0, sizeof *m);
    m->order = order;
    m->top_k = top_k;
    m->stride = (size_t)order + 1 + 2 * (size_t)top_k;
}

static inline Word *memory_row(const Memory *m, uint32_t index)
{
    return m->pages[index >> PAGE_BITS] + (size_t)(index & (PAGE_ROWS - 1)) * m->stride;
}

static inline float row_confidence(const Memory *m, const Word *row) { return row[m->order].number; }
static inline const Word *row_ids(const Memory *m, const Word *row) { return row + m->order + 1; }
static inline const Word *row_probs(const Memory *m, const Word *row) { return row + m->order + 1 + m->top_k; }

/* Multiplicative hashing, read from the top: consecutive token ids land evenly spread. */
static inline uint64_t hash_key(const int32_t *key, int order)
{
    uint64_t h = 0;
    for (int i = 0; i < order; i++) h = ((h ^ (h >> 32)) ^ (uint32_t)key[i]) * UINT64_C(0x9E3779B97F4A7C15);
    return h;
}

static inline int same_key(const Word *row, const int32_t *key, int order)
{
    for (int i = 0; i < order; i++)
        if (row[i].id != key[i]) return 0;
    return 1;
}

/* Slot of the key, or the empty slot where it belongs. The table must exist and have an empty slot. */
static inline uint32_t *memory_slot(const Memory *m, const int32_t *key, uint64_t hash)
{
    uint32_t mask = (1u << m->table_bits) - 1, at = (uint32_t)(hash >> (64 - m->table_bits)), slot;
    uint32_t tag = (uint32_t)(hash >> (56 - m->table_bits)) & 0xff;
    while ((slot = m->slots[at]) != 0) {
        if (slot >> INDEX_BITS == tag && same_key(memory_row(m, (slot & INDEX_MASK) - 1), key, m->order)) break;
        at = (at + 1) & mask;
    }
    return m->slots + at;
}

/* The row that was stored here. */
static inline const Word *memory_find_own(const Memory *m, const int32_t *key)
{
    if (!m->count) return NULL;
    uint32_t slot = *memory_slot(m, key, hash_key(key, m->order));
    return slot ? memory_row(m, (slot & INDEX_MASK) - 1) : NULL;
}

static inline const Word *memory_find(const Memory *m, const int32_t *key)
{
    const Word *own = memory_find_own(m, key);
    return own || !m->behind ? own : memory_find_own(m->behind, key);
}

static inline uint32_t slot_value(const Memory *m, uint64_t hash, uint32_t index)
{
    return ((uint32_t)(hash >> (56 - m->table_bits)) & 0xff) << INDEX_BITS | (index + 1);
}

static int memory_resize_table(Memory *m, int bits)
{
    uint32_t *slots = calloc((size_t)1 << bits, sizeof *slots);
    if (!slots) return -1;
    free(m->slots);
    m->slots = slots;
    m->table_bits = bits;
    for (uint32_t index = 0; index < m->count; index++) {
        int32_t key[3];
        const Word *row = memory_row(m, index);
        for (int i = 0; i < m->order; i++) key[i] = row[i].id;
        uint64_t hash = hash_key(key, m->order);
        uint32_t at = (uint32_t)(hash >> (64 - bits)), mask = (1u << bits) - 1;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = slot_value(m, hash, index);
    }
    return 0;
}

static int memory_add_page(Memory *m)
{
    if (m->page_count == m->page_room) {
        uint32_t room = m->page_room + m->page_room / 2 + 4;
        Word **pages = realloc(m->pages, room * sizeof *pages);
        if (!pages) return -1;
        m->pages = pages;
        m->page_room = room;
    }
    Word *page = malloc(PAGE_ROWS * m->stride * sizeof *page);
    if (!page) return -1;
    m->pages[m->page_count++] = page;
    return 0;
}

/* Number of the row with this key, appended if new; the caller fills it. -1 when memory ran out (nothing changed). */
static int64_t memory_claim(Memory *m, const int32_t *key)
{
    if (!m->table_bits && memory_resize_table(m, FIRST_TABLE_BITS) < 0) return -1;
    uint64_t hash = hash_key(key, m->order);
    uint32_t *slot = memory_slot(m, key, hash);
    if (*slot) return (int64_t)(*slot & INDEX_MASK) - 1;
    if (m->count == INDEX_MASK) return -1;
    if (m->count == m->page_count * PAGE_ROWS && memory_add_page(m) < 0) return -1;
    if ((uint64_t)(m->count + 1) * 4 > ((uint64_t)3 << m->table_bits)) {
        if (memory_resize_table(m, m->table_bits + 1) < 0) return -1;
        slot = memory_slot(m, key, hash);
    }
    Word *row = memory_row(m, m->count);
    for (int i = 0; i < m->order; i++) row[i].id = key[i];
    *slot = slot_value(m, hash, m->count);
    return m->count++;
}

static void memory_free(Memory *m)
{
    for (uint32_t i = 0; i < m->page_count; i++) free(m->pages[i]);
    free(m->pages);
    free(m->slots);
    const Memory *behind = m->behind;
    memory_init(m, m->order, m->top_k);
    m->behind = behind;
}

/* Keep room for as many rows as there were: clearing then costs no more than filling did, however large an earlier
 * request was. */
static void memory_clear(Memory *m)
{
    uint32_t pages = (m->count + PAGE_ROWS - 1) >> PAGE_BITS;
    if (!m->count) {
        memory_free(m);
        return;
    }
    while (m->page_count > pages) free(m->pages[--m->page_count]);
    int bits = m->table_bits;
    while (bits > FIRST_TABLE_BITS && ((uint64_t)3 << (bits - 1)) >= (uint64_t)m->count * 8) bits--;
    m->count = 0;
    if (bits == m->table_bits || memory_resize_table(m, bits) < 0)
        memset(m->slots, 0, sizeof *m->slots << m->table_bits);
}

static size_t memory_bytes(const Memory *m)
{
    return (m->table_bits ? sizeof *m->slots << m->table_bits : 0) + m->page_room * sizeof *m->pages +
           m->page_count * PAGE_ROWS * m->stride * sizeof(Word);
}

#endif
