/* The draft tree in pack order: root, memory nodes, suffix nodes (paper, section 3.5). */
#ifndef RECAP_TREE_H
#define RECAP_TREE_H

#include "fusion.h"

typedef struct {
    int32_t token, parent, depth;
    Context context;         /* ends with the node's own token */
    double score;            /* product along the path, root 1, suffix nodes 0 */
    double weights[SOURCES]; /* fusion weights at the parent */
    double shares[SOURCES];  /* of G, C, U in the fused probability */
} Node;

/* The first `width` candidates of an expanded node, kept until their turn comes. */
typedef struct {
    int count;
    double base, total; /* parent's score x depth prior; what the masses are divided by */
    double weights[SOURCES];
} Expansion;

typedef struct {
    double score;
    int32_t parent, rank;
} Offer;

typedef struct {
    int width, max_depth, depth_prior_count;
    double depth_priors[64];
    const int32_t *banned; /* sorted */
    size_t banned_count;
} SearchSettings;

typedef struct {
    int32_t count, room, suffix_start, suffix_match, offer_count; /* suffix_match: tokens matched, 0 for none */
    int width;
    Node *nodes;
    Expansion *expansions;
    Candidate *candidates; /* `width` per node */
    Offer *offers;         /* binary heap */
} Tree;

static void tree_free(Tree *t)
{
    free(t->nodes);
    free(t->expansions);
    free(t->candidates);
    free(t->offers);
    memset(t, 0, sizeof *t);
}

static size_t tree_bytes(const Tree *t)
{
    return (size_t)t->room *
           (sizeof *t->nodes + sizeof *t->expansions + sizeof *t->offers + (size_t)t->width * sizeof *t->candidates);
}

static int tree_reserve(Tree *t, int32_t room, int width)
{
    if (room <= t->room && width == t->width) return 0;
    tree_free(t);
    t->nodes = malloc((size_t)room * sizeof *t->nodes);
    t->expansions = malloc((size_t)room * sizeof *t->expansions);
    t->candidates = malloc((size_t)room * (size_t)width * sizeof *t->candidates);
    t->offers = malloc((size_t)room * sizeof *t->offers);
    if (!t->nodes || !t->expansions || !t->candidates || !t->offers) {
        tree_free(t);
        return -1;
    }
    t->room = room;
    t->width = width;
    return 0;
}

static int is_banned(const SearchSettings *s, int32_t token)
{
    size_t low = 0, high = s->banned_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->banned[middle] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->banned_count && s->banned[low] == token;
}

static Node *tree_add(Tree *t, int32_t parent, int32_t token)
{
    Node *node = t->nodes + t->count++;
    const Node *above = t->nodes + parent;
    memset(node, 0, sizeof *node);
    node->token = token;
    node->parent = parent;
    node->depth = above->depth + 1;
    node->context = context_extend(above->context, token);
    return node;
}

static void tree_start(Tree *t, Context context)
{
    t->count = 1;
    t->offer_count = 0;
    memset(t->nodes, 0, sizeof *t->nodes);
    t->nodes->token = context.token[2];
    t->nodes->parent = -1;
    t->nodes->context = context;
    t->nodes->score = 1.0;
}

/* Keep what a node's children need of its fused row. */
static void expand(Tree *t, const SearchSettings *s, const Fused *f, int32_t at)
{
    Expansion *e = t->expansions + at;
    int depth = t->nodes[at].depth; /* the children's depth is one more, and depth priors start with depth 1 */
    e->count = f->count < s->width ? f->count : s->width;
    e->base = t->nodes[at].score * s->depth_priors[depth < s->depth_prior_count ? depth : s->depth_prior_count - 1];
    e->total = f->total;
    memcpy(e->weights, f->weights, sizeof e->weights);
    for (int i = 0; i < e->count; i++) t->candidates[(size_t)at * (size_t)t->width + i] = f->candidates[f->order[i]];
}

static inline const Candidate *offered(const Tree *t, int32_t parent, int32_t rank)
{
    return t->candidates + (size_t)parent * (size_t)t->width + rank;
}

static inline double child_score(const Tree *t, int32_t parent, int32_t rank)
{
    const Expansion *e = t->expansions + parent;
    return e->base * (offered(t, parent, rank)->mass / e->total);
}

static void tree_add_memory_node(Tree *t, int32_t parent, int32_t rank)
{
    const Candidate *c = offered(t, parent, rank);
    Node *node = tree_add(t, parent, c->id);
    node->score = child_score(t, parent, rank);
    memcpy(node->weights, t->expansions[parent].weights, sizeof node->weights);
    for (int s = 0; s < SOURCES; s++) node->shares[s] = c->mass > 0.0 ? c->parts[s] / c->mass : node->weights[s];
}

/* Equal scores: the one pushed first, that is, of the earlier parent, then of the better rank. */
static inline int comes_before(const Offer *a, const Offer *b)
{
    if (a->score != b->score) return a->score > b->score;
    return a->parent != b->parent ? a->parent < b->parent : a->rank < b->rank;
}

static void offer_push(Tree *t, Offer new)
{
    int32_t at = t->offer_count++;
    for (int32_t above; at > 0 && comes_before(&new, t->offers + (above = (at - 1) / 2)); at = above)
        t->offers[at] = t->offers[above];
    t->offers[at] = new;
}

static Offer offer_pop(Tree *t)
{
    Offer top = t->offers[0], last = t->offers[--t->offer_count];
    int32_t at = 0, child;
    while ((child = 2 * at + 1) < t->offer_count) {
        if (child + 1 < t->offer_count && comes_before(t->offers + child + 1, t->offers + child)) child++;
        if (!comes_before(t->offers + child, &last)) break;
        t->offers[at] = t->offers[child];
        at = child;
    }
    t->offers[at] = last;
    return top;
}

/* A node's candidates fall in score, so only its best one left needs to wait in the heap: at most one offer a node. */
static void offer_next(Tree *t, const SearchSettings *s, int32_t parent, int32_t rank)
{
    int count = t->expansions[parent].count;
    while (rank < count && is_banned(s, offered(t, parent, rank)->id)) rank++;
    if (rank < count) offer_push(t, (Offer){child_score(t, parent, rank), parent, rank});
}

/* Where rows come from. */
typedef struct {
    const Memory *memories;
    int kept;
    const FusionSettings *fusion;
    const Word *spare; /* predictions for a root of which no memory has a row */
    int spare_count;
} Rows;

static void fuse_at(const Tree *t, const Rows *r, int32_t at, Fused *f)
{
    fuse(r->memories, r->kept, r->fusion, &t->nodes[at].context, f);
    if (at == 0 && f->count == 0 && r->spare_count)
        fuse_spare(r->fusion, r->spare, r->spare_count, r->memories[SOURCE_U].top_k, f);
}

static void search_best_first(Tree *t, const SearchSettings *s, const Rows *r, int32_t max_nodes)
{
    Fused f;
    for (int32_t at = 0; t->count <= max_nodes; at = t->count - 1) {
        if (t->nodes[at].depth < s->max_depth) {
            fuse_at(t, r, at, &f);
            expand(t, s, &f, at);
            offer_next(t, s, at, 0);
        }
        if (!t->offer_count) break;
        Offer best = offer_pop(t);
        tree_add_memory_node(t, best.parent, best.rank);
        offer_next(t, s, best.parent, best.rank + 1);
    }
}

/* How many children each node of Token Recycling's static tree has (Luo et al., 2025; 80 nodes, depth 6), breadth
 * first: the root, its eight children, and so on. The children of a node are ranks 0, 1, ... of its row. */
static const unsigned char STATIC_TREE[] = {
    8,
    8, 4, 3, 2, 1, 1, 1, 1,
    8, 3, 2, 1, 1, 1, 1, 1, 2, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0,
    5, 2, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0,
    3, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0,
    2, 0, 0, 1, 0, 0, 0, 0,
    0, 0, 0,
};

/* A rank that the fused row lacks, that is banned, too wide or too deep is left out with its subtree. */
static void search_fixed(Tree *t, const SearchSettings *s, const Rows *r, int32_t max_nodes)
{
    Fused f;
    int32_t packed[sizeof STATIC_TREE]; /* where each node of the static tree went; -1 when left out */
    int next = 1;
    packed[0] = 0;
    for (size_t i = 0; i < sizeof STATIC_TREE; i++) {
        int32_t at = packed[i];
        int children = STATIC_TREE[i], count = 0;
        if (children && at >= 0 && t->count <= max_nodes && t->nodes[at].depth < s->max_depth) {
            fuse_at(t, r, at, &f);
            expand(t, s, &f, at);
            count = t->expansions[at].count;
        }
        for (int rank = 0; rank < children; rank++) {
            int32_t *child = packed + next++;
            *child = -1;
            if (rank >= count || t->count > max_nodes || is_banned(s, offered(t, at, rank)->id)) continue;
            *child = t->count;
            tree_add_memory_node(t, at, rank);
        }
    }
}

/* Walk the continuation from the root along existing children, then add what is missing. */
static void tree_add_suffix(Tree *t, const SearchSettings *s, const int32_t *tokens, int count, int suffix_tokens)
{
    int32_t at = 0;
    for (int i = 0; i < count && !is_banned(s, tokens[i]); i++) {
        int32_t child = at + 1;
        while (child < t->count && !(t->nodes[child].parent == at && t->nodes[child].token == tokens[i])) child++;
        if (child == t->count) {
            if (t->count - t->suffix_start >= suffix_tokens) break;
            tree_add(t, at, tokens[i]);
        }
        at = child;
    }
}

#endif
