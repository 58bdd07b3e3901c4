/* Keys and values of what was read, float32. Keys lie in panels like weights, so that scores are one more matrix
 * product; values lie entry by entry. */
#ifndef RECAP_ENTRIES_H
#define RECAP_ENTRIES_H

#include "model.h"

#define FIRST_ROOM 512

typedef struct {
    int layers, heads, size, width;
    size_t room, length, written; /* entries: that fit, that are kept, that the last pass put behind them */
    float *keys, *values;         /* (layers, heads, room, size) each */
} Entries;

static void entries_init(Entries *e, const Sizes *s)
{
    memset(e, 0, sizeof *e);
    e->layers = s->layers;
    e->heads = s->kv_heads;
    e->size = s->head_size;
    e->width = s->width;
}

static void entries_free(Entries *e)
{
    free(e->keys);
    free(e->values);
    e->keys = e->values = NULL;
    e->room = e->length = e->written = 0;
}

static float *entries_keys(const Entries *e, int layer, int head)
{
    return e->keys + (size_t)(layer * e->heads + head) * e->room * e->size;
}

static float *entries_values(const Entries *e, int layer, int head)
{
    return e->values + (size_t)(layer * e->heads + head) * e->room * e->size;
}

/* Where an entry's key begins inside its head's panels; its next number lies `width` further. */
static size_t entries_key_place(const Entries *e, size_t entry)
{
    return entry / e->width * e->width * e->size + entry % e->width;
}

static int entries_reserve(Entries *e, size_t wanted)
{
    if (wanted <= e->room) return 0;
    Entries grown = *e;
    grown.room = e->room ? e->room : FIRST_ROOM;
    while (grown.room < wanted) grown.room *= 2;
    size_t floats = (size_t)e->layers * e->heads * grown.room * e->size;
    grown.keys = model_floats(floats);
    grown.values = model_floats(floats);
    if (!grown.keys || !grown.values) {
        free(grown.keys);
        free(grown.values);
        return OUT_OF_MEMORY;
    }
    size_t bytes = e->room * e->size * sizeof(float);
    for (int layer = 0; layer < e->layers && e->room; layer++)
        for (int head = 0; head < e->heads; head++) {
            memcpy(entries_keys(&grown, layer, head), entries_keys(e, layer, head), bytes);
            memcpy(entries_values(&grown, layer, head), entries_values(e, layer, head), bytes);
        }
    free(e->keys);
    free(e->values);
    *e = grown;
    return 0;
}

static void entries_move(Entries *e, size_t from, size_t to)
{
    size_t source = entries_key_place(e, from), target = entries_key_place(e, to);
    for (int layer = 0; layer < e->layers; layer++)
        for (int head = 0; head < e->heads; head++) {
            float *keys = entries_keys(e, layer, head), *values = entries_values(e, layer, head);
            for (int d = 0; d < e->size; d++) keys[target + (size_t)d * e->width] = keys[source + (size_t)d * e->width];
            memcpy(values + to * e->size, values + from * e->size, e->size * sizeof(float));
        }
}

#endif
