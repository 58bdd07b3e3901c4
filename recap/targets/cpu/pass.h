/* One pass: what every piece of its work needs to know. */
#ifndef RECAP_PASS_H
#define RECAP_PASS_H

#include "entries.h"
#include "pack.h"

/* Nodes of a pass, from `first` on, behind what one cache keeps. They see that and their own ancestors. */
typedef struct {
    Entries *entries;
    int first, n;
} Tree;

/* Nodes of one tree whose attention is one piece of work. */
typedef struct {
    int tree, first, n;
} Block;

typedef struct {
    Model *model;
    const Tree *trees;
    const Block *blocks;
    int n, block_count;
    const int32_t *tokens, *positions, *tree; /* (n,) */
    float *hidden;                            /* (n, hidden): the result */
} Pass;

/* Number `at` of a pass's trees: its nodes are told, and its blocks come behind the `count` that there are. */
static inline int tree_divide(const Tree *tree, int at, int32_t *of, Block *blocks, int count)
{
    for (int i = 0; i < tree->n; i++) of[tree->first + i] = at;
    for (int i = 0; i < tree->n; i += NODES)
        blocks[count++] = (Block){at, tree->first + i, tree->n - i < NODES ? tree->n - i : NODES};
    return count;
}

/* The K largest logits of rows of hidden states, or all of them. */
typedef struct {
    Model *model;
    int n, k;
    const float *hidden; /* (n, hidden) */
    float *logits;       /* (n, vocabulary) for all of them, else NULL */
    _Atomic int broken;  /* a logit was not finite */
} Reading;

struct Instructions {
    const char *name;
    int width;
    void (*forward)(Pass *);
    void (*read)(Reading *);
};

/* A place in the ranking of logits: the larger one, then the lower id. */
static inline int candidate_before(Candidate a, Candidate b)
{
    return a.value > b.value || (a.value == b.value && a.id < b.id);
}

static inline void candidate_insert(Candidate *best, int k, Candidate c)
{
    int at = k - 1;
    if (!candidate_before(c, best[at])) return;
    for (; at > 0 && candidate_before(c, best[at - 1]); at--) best[at] = best[at - 1];
    best[at] = c;
}

/* Pieces of a job over `count` panels: small enough to share out evenly, large enough to be worth taking. */
static inline int panels_per_piece(int count, int threads)
{
    int piece = count / (threads * 3);
    return piece < 1 ? 1 : piece > 16 ? 16 : piece;
}

#endif
