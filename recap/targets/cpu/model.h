/* A llama-shaped language model as this runtime keeps it: sizes, packed weights, scratch memory. No Python in here.
 *
 * A weight matrix (outputs, inputs) is packed into panels of `width` outputs. For each input, the weights of all outputs
 * of a panel lie side by side, so that one vector of them is multiplied with one number of the row. Every output is
 * then a single chain of multiply-adds over the inputs in their order, whatever else is computed beside it. */
#ifndef RECAP_MODEL_H
#define RECAP_MODEL_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "pool.h"

#define OUT_OF_MEMORY (-2)
#define MAX_TOP_K 64
#define MAX_WIDTH 32 /* outputs of a panel: two of the widest vectors */
#define NODES 8      /* nodes whose attention is one piece of work */
#define SLACK 64     /* floats behind a buffer that vectors may touch */

typedef struct {
    int layers, hidden, heads, kv_heads, head_size, mlp, vocabulary, positions;
    int wide;  /* weights kept as float32; else as bfloat16 */
    int width; /* outputs of a panel */
    float epsilon;
} Sizes;

typedef struct {
    char *data;
    int outputs, inputs, panels;
    size_t panel_bytes;
} Matrix;

typedef struct {
    float *before, *after; /* norms before attention and before the mlp, (hidden,) */
    Matrix qkv, out, up, down; /* up: panels of the gate and of the up projection in turns */
} Layer;

typedef struct {
    int32_t id;
    float value;
} Candidate;

typedef struct {
    float *x, *normed, *qkv, *attended, *act; /* (n, ...) */
    int32_t *first, *ancestors;               /* node i's ancestors and itself: ancestors[first[i] .. first[i + 1]) */
    size_t rows;
    float *attention; /* a part per thread */
    size_t attention_room;
    Candidate *best; /* (threads, rows, k) */
    size_t best_room;
} Scratch;

struct Instructions;

typedef struct {
    Sizes sizes;
    const struct Instructions *instructions;
    Matrix head;  /* also the embedding */
    char *arena;  /* all weights: one piece of memory, read from end to end in every pass */
    size_t taken; /* bytes of it */
    float *norm, *cosines, *sines; /* (hidden,), (positions, head_size / 2) twice */
    Layer *layer;
    Scratch scratch;
    Pool pool;
    int threads;
} Model;

static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/* Zeroed, on large pages where the system has them. */
static void *model_memory(size_t bytes)
{
    size_t unit = bytes >= (size_t)1 << 22 ? (size_t)1 << 21 : 64;
    void *memory = NULL;
    bytes = round_up(bytes, unit);
    if (posix_memalign(&memory, unit, bytes)) return NULL;
#ifdef MADV_HUGEPAGE
    if (unit > 64) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    memset(memory, 0, bytes);
    return memory;
}

static float *model_floats(size_t count) { return model_memory((count + SLACK) * sizeof(float)); }

/* A matrix takes its part of the arena; without an arena it only says how much it will take. */
static void matrix_make(Model *m, Matrix *matrix, int outputs, int inputs)
{
    const Sizes *s = &m->sizes;
    matrix->outputs = outputs;
    matrix->inputs = inputs;
    matrix->panels = (outputs + s->width - 1) / s->width;
    matrix->panel_bytes = (size_t)inputs * s->width * (s->wide ? 4 : 2);
    matrix->data = m->arena ? m->arena + m->taken : NULL;
    m->taken += round_up(matrix->panels * matrix->panel_bytes, 64);
}

static void model_lay_out(Model *m)
{
    const Sizes *s = &m->sizes;
    m->taken = 0;
    for (int i = 0; i < s->layers; i++) {
        Layer *l = m->layer + i;
        matrix_make(m, &l->qkv, (s->heads + 2 * s->kv_heads) * s->head_size, s->hidden);
        matrix_make(m, &l->out, s->hidden, s->heads * s->head_size);
        matrix_make(m, &l->up, 2 * s->mlp, s->hidden);
        matrix_make(m, &l->down, s->hidden, s->mlp);
    }
    matrix_make(m, &m->head, s->vocabulary, s->hidden);
}

static int model_make(Model *m, const Sizes *sizes)
{
    const Sizes *s = &m->sizes;
    m->sizes = *sizes;
    m->norm = model_floats(s->hidden);
    m->cosines = model_floats((size_t)s->positions * s->head_size / 2);
    m->sines = model_floats((size_t)s->positions * s->head_size / 2);
    m->layer = calloc(s->layers, sizeof *m->layer);
    if (!m->norm || !m->cosines || !m->sines || !m->layer) return OUT_OF_MEMORY;
    for (int i = 0; i < s->layers; i++) {
        m->layer[i].before = model_floats(s->hidden);
        m->layer[i].after = model_floats(s->hidden);
        if (!m->layer[i].before || !m->layer[i].after) return OUT_OF_MEMORY;
    }
    model_lay_out(m);
    m->arena = model_memory(m->taken + SLACK * sizeof(float));
    if (!m->arena) return OUT_OF_MEMORY;
    model_lay_out(m);
    return 0;
}

static void scratch_free_rows(Scratch *s)
{
    void *all[] = {s->x, s->normed, s->qkv, s->attended, s->act, s->first, s->ancestors};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    s->x = s->normed = s->qkv = s->attended = s->act = NULL;
    s->first = s->ancestors = NULL;
    s->rows = 0;
}

static void model_free(Model *m)
{
    for (int i = 0; m->layer && i < m->sizes.layers; i++) {
        free(m->layer[i].before);
        free(m->layer[i].after);
    }
    free(m->layer);
    free(m->norm);
    free(m->cosines);
    free(m->sines);
    free(m->arena);
    scratch_free_rows(&m->scratch);
    free(m->scratch.attention);
    free(m->scratch.best);
}

/* Room for a pass over n rows. */
static int scratch_rows(Model *m, size_t n)
{
    Scratch *s = &m->scratch;
    const Sizes *z = &m->sizes;
    if (n <= s->rows) return 0;
    n = round_up(n, 32);
    scratch_free_rows(s);
    s->x = model_floats(n * z->hidden);
    s->normed = model_floats(n * z->hidden);
    s->qkv = model_floats(n * (z->heads + 2 * z->kv_heads) * z->head_size);
    s->attended = model_floats(n * z->heads * z->head_size);
    s->act = model_floats(n * z->mlp);
    s->first = malloc((n + 1) * sizeof *s->first);
    s->ancestors = malloc(n * (n + 1) / 2 * sizeof *s->ancestors);
    if (!s->x || !s->normed || !s->qkv || !s->attended || !s->act || !s->first || !s->ancestors) {
        scratch_free_rows(s);
        return OUT_OF_MEMORY;
    }
    s->rows = n;
    return 0;
}

/* Floats that one thread needs for the attention of NODES nodes over `length` entries: queries, scores, sums. */
static size_t attention_floats(const Sizes *s, size_t length)
{
    size_t rows = (size_t)NODES * (s->heads / s->kv_heads);
    return rows * (round_up(length, MAX_WIDTH) + MAX_WIDTH + 2 * s->head_size) + SLACK;
}

static int scratch_attention(Model *m, size_t length)
{
    size_t wanted = m->threads * attention_floats(&m->sizes, length);
    if (wanted <= m->scratch.attention_room) return 0;
    wanted += wanted / 2; /* conversations grow */
    free(m->scratch.attention);
    m->scratch.attention = model_floats(wanted);
    m->scratch.attention_room = m->scratch.attention ? wanted : 0;
    return m->scratch.attention ? 0 : OUT_OF_MEMORY;
}

static int scratch_best(Model *m, size_t n, size_t k)
{
    size_t wanted = m->threads * n * k;
    if (wanted <= m->scratch.best_room) return 0;
    free(m->scratch.best);
    m->scratch.best = malloc(wanted * sizeof *m->scratch.best);
    m->scratch.best_room = m->scratch.best ? wanted : 0;
    return m->scratch.best ? 0 : OUT_OF_MEMORY;
}

#endif
