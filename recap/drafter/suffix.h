/* Suffix automaton over prompt + committed tokens (design: suffix path; Hu et al., 2025).
 *
 * One string, built online: the longest suffix that also ends at an earlier position is the suffix link of the last
 * state. Edges live in one array, chained per state for cloning and found through an open-addressing table.
 */
#ifndef RECAP_SUFFIX_H
#define RECAP_SUFFIX_H

#include "rows.h"

typedef struct {
    int32_t length, link, first_end, edges; /* edges: head of the chain, -1 for none */
} State;

typedef struct {
    int32_t from, token, to, next;
} Edge;

typedef struct {
    State *states;
    Edge *edges;
    int32_t state_count, state_room, edge_count, edge_room, last;
    int last_is_break;
    int table_bits; /* 0 while nothing is allocated */
    uint32_t *slots; /* edge number counted from 1; 0 means empty */
} Suffix;

static void suffix_free(Suffix *s)
{
    free(s->states);
    free(s->edges);
    free(s->slots);
    memset(s, 0, sizeof *s);
}

/* Twice the room, in `*array` and `*room`. */
static int grow(void *array, int32_t *room, size_t size)
{
    if (*room > INT32_MAX / 4) return -1;
    int32_t more = *room ? *room * 2 : 256;
    void *bigger = realloc(*(void **)array, (size_t)more * size);
    if (!bigger) return -1;
    memcpy(array, &bigger, sizeof bigger);
    *room = more;
    return 0;
}

static inline uint32_t *edge_slot(const Suffix *s, int32_t from, int32_t token)
{
    int32_t key[2] = {from, token};
    uint32_t mask = (1u << s->table_bits) - 1, at = (uint32_t)(hash_key(key, 2) >> (64 - s->table_bits)), slot;
    while ((slot = s->slots[at]) != 0) {
        const Edge *edge = s->edges + slot - 1;
        if (edge->from == from && edge->token == token) break;
        at = (at + 1) & mask;
    }
    return s->slots + at;
}

static inline Edge *edge_find(const Suffix *s, int32_t from, int32_t token)
{
    uint32_t slot = *edge_slot(s, from, token);
    return slot ? s->edges + slot - 1 : NULL;
}

static int edges_rehash(Suffix *s, int bits)
{
    uint32_t *slots = calloc((size_t)1 << bits, sizeof *slots);
    if (!slots) return -1;
    free(s->slots);
    s->slots = slots;
    s->table_bits = bits;
    for (int32_t i = 0; i < s->edge_count; i++) *edge_slot(s, s->edges[i].from, s->edges[i].token) = (uint32_t)i + 1;
    return 0;
}

static int edge_add(Suffix *s, int32_t from, int32_t token, int32_t to)
{
    if (s->edge_count == s->edge_room && grow(&s->edges, &s->edge_room, sizeof *s->edges) < 0) return -1;
    if ((uint64_t)(s->edge_count + 1) * 4 > ((uint64_t)3 << s->table_bits) &&
        (s->table_bits >= 31 || edges_rehash(s, s->table_bits + 1) < 0))
        return -1;
    s->edges[s->edge_count] = (Edge){from, token, to, s->states[from].edges};
    s->states[from].edges = s->edge_count++;
    *edge_slot(s, from, token) = (uint32_t)s->edge_count;
    return 0;
}

static int32_t state_add(Suffix *s, int32_t length, int32_t link, int32_t first_end)
{
    if (s->state_count == s->state_room && grow(&s->states, &s->state_room, sizeof *s->states) < 0) return -1;
    s->states[s->state_count] = (State){length, link, first_end, -1};
    return s->state_count++;
}

/* Empty text. As with rows, room for no more than the text that ended is kept, so a clear costs what it paid. */
static int suffix_clear(Suffix *s)
{
    int bits = s->table_bits;
    while (bits > 8 && ((uint64_t)3 << (bits - 1)) >= (uint64_t)s->edge_count * 8) bits--;
    if (bits != s->table_bits || bits < 8) {
        suffix_free(s);
        if (edges_rehash(s, bits < 8 ? 8 : bits) < 0) return -1;
    } else {
        memset(s->slots, 0, sizeof *s->slots << bits);
    }
    s->state_count = s->edge_count = s->last = 0;
    s->last_is_break = 0;
    return state_add(s, 0, -1, -1) < 0 ? -1 : 0;
}

/* A token that never matches: a symbol of its own. It occurs once, so no edge is ever asked for it, and a run of such
 * tokens (thousands of image placeholders) shares one state. */
static int suffix_break(Suffix *s, int32_t position)
{
    if (s->last_is_break) {
        s->states[s->last].length = position + 1;
        s->states[s->last].first_end = position;
        return 0;
    }
    int32_t state = state_add(s, position + 1, 0, position);
    if (state < 0) return -1;
    s->last = state;
    s->last_is_break = 1;
    return 0;
}

static int32_t state_clone(Suffix *s, int32_t original, int32_t length)
{
    int32_t clone = state_add(s, length, s->states[original].link, s->states[original].first_end);
    if (clone < 0) return -1;
    for (int32_t e = s->states[original].edges; e >= 0; e = s->edges[e].next)
        if (edge_add(s, clone, s->edges[e].token, s->edges[e].to) < 0) return -1;
    return clone;
}

/* Append the token at `position`. -1 when memory ran out; the automaton must then be cleared before further use. */
static int suffix_append(Suffix *s, int32_t token, int32_t position)
{
    int32_t state = state_add(s, position + 1, 0, position), p = s->last;
    Edge *edge = NULL;
    if (state < 0) return -1;
    for (; p >= 0 && !(edge = edge_find(s, p, token)); p = s->states[p].link)
        if (edge_add(s, p, token, state) < 0) return -1;
    if (p >= 0) {
        int32_t q = edge->to;
        if (s->states[q].length != s->states[p].length + 1) {
            int32_t clone = state_clone(s, q, s->states[p].length + 1);
            if (clone < 0) return -1;
            for (; p >= 0 && (edge = edge_find(s, p, token)) && edge->to == q; p = s->states[p].link) edge->to = clone;
            s->states[q].link = clone;
            q = clone;
        }
        s->states[state].link = q;
    }
    s->last = state;
    s->last_is_break = 0;
    return 0;
}

/* Position after the earliest earlier occurrence of the longest repeated suffix, whose length goes to `*length`; -1
 * and 0 when no suffix is repeated. */
static inline int32_t suffix_match(const Suffix *s, int32_t *length)
{
    int32_t link = s->state_count ? s->states[s->last].link : 0;
    *length = link > 0 ? s->states[link].length : 0;
    return link > 0 ? s->states[link].first_end + 1 : -1;
}

static size_t suffix_bytes(const Suffix *s)
{
    return (size_t)s->state_room * sizeof *s->states + (size_t)s->edge_room * sizeof *s->edges +
           (s->table_bits ? sizeof *s->slots << s->table_bits : 0);
}

#endif
