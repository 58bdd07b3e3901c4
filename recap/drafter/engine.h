/* The drafting core as plain C: memories, text, suffix automaton, the last draft. No Python in here. */
#ifndef RECAP_ENGINE_H
#define RECAP_ENGINE_H

#include <time.h>

#include "suffix.h"
#include "tree.h"

#define SUFFIX_REACH 10
#define OUT_OF_MEMORY (-2)

enum { TIME_SUFFIX, TIME_SEARCH, TIME_PACK, TIME_REFRESH, TIME_INDEX, TIMES };

typedef struct {
    int top_k, kept, persistent, use_suffix, fixed; /* kept: 3 GCU, 2 CU, 1 U */
    FusionSettings fusion;
    SearchSettings search;
    Memory memories[SOURCES];
    uint8_t *seeded; /* one bit per row of U: written by this request's prefill */
    size_t seeded_bytes;
    int32_t *text, *banned;
    int32_t text_count, text_room;
    int32_t offered[SUFFIX_REACH]; /* what followed in another text, and how many of the last tokens agree with it */
    int32_t offered_count, offered_match;
    Suffix suffix;
    Tree tree;
    Word *predictions; /* scratch: all rows of a call are checked before any is stored */
    size_t prediction_room; /* words */
    int timing;
    int64_t times[TIMES];
} Engine;

static int64_t now_ns(void)
{
    struct timespec t;
#ifdef _WIN32
    timespec_get(&t, TIME_UTC);
#else
    clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#define TIMED(engine, phase, statement)                                \
    do {                                                               \
        int64_t from = (engine)->timing ? now_ns() : 0;                \
        statement;                                                     \
        if ((engine)->timing) (engine)->times[phase] += now_ns() - from; \
    } while (0)

static void engine_init(Engine *e, int top_k)
{
    e->top_k = top_k;
    for (int s = 0; s < SOURCES; s++) memory_init(e->memories + s, SOURCES - s, top_k);
}

static void engine_free(Engine *e)
{
    for (int s = 0; s < SOURCES; s++) memory_free(e->memories + s);
    suffix_free(&e->suffix);
    tree_free(&e->tree);
    free(e->seeded);
    free(e->text);
    free(e->banned);
    free(e->predictions);
    e->seeded = NULL;
    e->text = e->banned = NULL;
    e->predictions = NULL;
    e->seeded_bytes = e->prediction_room = 0;
    e->text_count = e->text_room = e->offered_count = 0;
    e->search.banned = NULL;
    e->search.banned_count = 0;
}

static size_t engine_bytes(const Engine *e)
{
    size_t bytes = sizeof *e + suffix_bytes(&e->suffix) + tree_bytes(&e->tree) + e->seeded_bytes +
                   ((size_t)e->text_room + e->search.banned_count) * sizeof(int32_t) +
                   e->prediction_room * sizeof *e->predictions;
    for (int s = 0; s < SOURCES; s++) bytes += memory_bytes(e->memories + s);
    return bytes;
}

/* Append to the text and, if it is used, to the automaton. */
static int engine_append(Engine *e, const int32_t *tokens, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (e->text_count == e->text_room && grow(&e->text, &e->text_room, sizeof *e->text) < 0) return OUT_OF_MEMORY;
        int32_t position = e->text_count++, failed = 0;
        e->text[position] = tokens[i];
        if (e->use_suffix)
            failed = is_banned(&e->search, tokens[i]) ? suffix_break(&e->suffix, position)
                                                      : suffix_append(&e->suffix, tokens[i], position);
        if (failed) return OUT_OF_MEMORY;
    }
    return 0;
}

/* New request. Takes over `banned`, which is sorted. */
static int engine_begin(Engine *e, const int32_t *prompt, int32_t count, int32_t *banned, size_t banned_count)
{
    free(e->banned);
    e->banned = banned;
    e->search.banned = banned;
    e->search.banned_count = banned_count;
    memory_clear(e->memories + SOURCE_G);
    memory_clear(e->memories + SOURCE_C);
    if (!e->persistent) memory_clear(e->memories + SOURCE_U);
    free(e->seeded);
    e->seeded = NULL;
    e->seeded_bytes = 0;
    if (e->text_room / 4 > e->text_count) {
        free(e->text);
        e->text = NULL;
        e->text_room = 0;
    }
    e->text_count = 0;
    e->tree.count = e->offered_count = 0;
    if (e->use_suffix && suffix_clear(&e->suffix) < 0) return OUT_OF_MEMORY;
    return engine_append(e, prompt, count);
}

static int engine_reserve_predictions(Engine *e, size_t count)
{
    size_t words = count * prediction_words(e->top_k);
    if (words <= e->prediction_room) return 0;
    free(e->predictions);
    e->predictions = malloc(words * sizeof *e->predictions);
    e->prediction_room = e->predictions ? words : 0;
    return e->predictions ? 0 : OUT_OF_MEMORY;
}

static const Word *engine_prediction(const Engine *e, size_t row)
{
    return e->predictions + row * prediction_words(e->top_k);
}

/* A long prompt's worth of scratch is not kept for passes, which need little. */
static void engine_drop_predictions(Engine *e)
{
    free(e->predictions);
    e->predictions = NULL;
    e->prediction_room = 0;
}

static int is_seeded(Engine *e, uint32_t row)
{
    return row / 8 < e->seeded_bytes && e->seeded[row / 8] >> (row & 7) & 1;
}

static int mark_seeded(Engine *e, uint32_t row)
{
    if (row / 8 >= e->seeded_bytes) {
        size_t bytes = (row / 8 + 1) * 3 / 2 + 64;
        uint8_t *more = realloc(e->seeded, bytes);
        if (!more) return OUT_OF_MEMORY;
        memset(more + e->seeded_bytes, 0, bytes - e->seeded_bytes);
        e->seeded = more;
        e->seeded_bytes = bytes;
    }
    e->seeded[row / 8] |= (uint8_t)(1u << (row & 7));
    return 0;
}

/* One row of prefill: the first occurrence within the request wins. */
static int engine_seed(Engine *e, int32_t token, const Word *prediction)
{
    Memory *u = e->memories + SOURCE_U;
    int64_t row = memory_claim(u, &token);
    if (row < 0) return OUT_OF_MEMORY;
    if (is_seeded(e, (uint32_t)row)) return 0;
    memory_store(u, &token, prediction);
    return mark_seeded(e, (uint32_t)row);
}

static Context engine_context(const Engine *e)
{
    Context c = {{-1, -1, -1}};
    for (int i = 0; i < 3 && i < e->text_count; i++) c.token[2 - i] = e->text[e->text_count - 1 - i];
    return c;
}

/* `spare`: how many of `predictions` may stand in for the rows of a root that no memory knows (appendix H). */
static int engine_draft(Engine *e, int32_t max_nodes, int suffix_tokens, int spare)
{
    Tree *t = &e->tree;
    Rows rows = {e->memories, e->kept, &e->fusion, e->predictions, spare};
    int32_t start = -1, count = 0;
    const int32_t *path = e->offered;
    if (tree_reserve(t, max_nodes + suffix_tokens + 1, e->search.width) < 0) return OUT_OF_MEMORY;
    TIMED(e, TIME_SEARCH, {
        tree_start(t, engine_context(e));
        (e->fixed ? search_fixed : search_best_first)(t, &e->search, &rows, max_nodes);
    });
    t->suffix_start = t->count;
    t->suffix_match = 0;
    TIMED(e, TIME_SUFFIX, {
        if (e->use_suffix && suffix_tokens > 0) {
            start = suffix_match(&e->suffix, &t->suffix_match);
            if (e->offered_count && e->offered_match > t->suffix_match) {
                t->suffix_match = e->offered_match;
                count = e->offered_count;
            } else if (start >= 0) {
                path = e->text + start;
                count = e->text_count - start < SUFFIX_REACH ? e->text_count - start : SUFFIX_REACH;
            }
        }
        if (count > 0) tree_add_suffix(t, &e->search, path, count, suffix_tokens);
    });
    return 0;
}

/* Every evaluated node writes its row under its own context. Backwards: of equal keys the first node's row stays. */
static int engine_observe(Engine *e)
{
    for (int32_t at = e->tree.count - 1; at >= 0; at--) {
        const int32_t *key = e->tree.nodes[at].context.token;
        const Word *prediction = engine_prediction(e, (size_t)at);
        for (int s = SOURCES - e->kept; s < SOURCES; s++)
            if (key[s] >= 0 && memory_store(e->memories + s, key + s, prediction) < 0) return OUT_OF_MEMORY;
    }
    return 0;
}

#endif
