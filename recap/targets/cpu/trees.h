/* A pass as Python asks for it: trees behind caches of their own, whose nodes see nothing of each other.
 *
 * The weights are read once for all of them, and a node's numbers are the bits that it would have had alone. */
#ifndef RECAP_TREES_H
#define RECAP_TREES_H

#include "objects.h"

#define MAX_TREES 64
#define MAX_PASS 4096 /* nodes */

typedef struct {
    CacheObject *cache;
    PyObject *tokens, *depths, *mask; /* borrowed of the tuple that holds them */
    int offset;
} Asked;

typedef struct {
    Pass pass;
    Asked asked[MAX_TREES];
    Tree trees[MAX_TREES];
    int count, entered;
    int32_t *numbers; /* tokens, positions, trees of all nodes */
    Block *blocks;
} Batch;

/* (cache, tokens, depths, mask, offset). 0 with an exception. */
static int batch_add(Batch *b, State *state, ModelObject *self, PyObject *item)
{
    Asked *asked = b->asked + b->count;
    PyObject *cache;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a tree is a tuple: cache, tokens, depths, mask, offset");
        return 0;
    }
    if (!PyArg_ParseTuple(item, "O!OOOi", state->cache, &cache, &asked->tokens, &asked->depths, &asked->mask,
                          &asked->offset))
        return 0;
    asked->cache = (CacheObject *)cache;
    Py_ssize_t n = buffer_items(asked->tokens, 8);
    if (n < 0) return 0;
    if (n < 1 || n > MAX_PASS - b->pass.n) {
        PyErr_Format(PyExc_ValueError, "a pass takes 1 to %d tokens, got %zd", MAX_PASS, b->pass.n + n);
        return 0;
    }
    if (asked->cache->owner != self) {
        PyErr_SetString(PyExc_ValueError, "this cache belongs to another model");
        return 0;
    }
    for (int i = 0; i < b->count; i++)
        if (b->asked[i].cache == asked->cache) {
            PyErr_SetString(PyExc_ValueError, "every tree of a pass needs a cache of its own");
            return 0;
        }
    b->trees[b->count++] = (Tree){&asked->cache->entries, b->pass.n, (int)n};
    b->pass.n += (int)n;
    return 1;
}

/* Numbers, ancestors and room in caches for one tree; its blocks. 0 with an exception. */
static int batch_read(Batch *b, int at)
{
    const Tree *tree = b->trees + at;
    const Asked *asked = b->asked + at;
    Model *m = b->pass.model;
    int32_t *to = b->numbers + tree->first;
    int64_t position = (int64_t)tree->entries->length + asked->offset;
    if (!read_numbers(asked->tokens, "tokens", tree->n, m->sizes.vocabulary, 0, to) ||
        !read_numbers(asked->depths, "depths", tree->n, m->sizes.positions, position, to + b->pass.n) ||
        !read_ancestors(&m->scratch, asked->mask, tree->first, tree->n))
        return 0;
    if (entries_reserve(tree->entries, tree->entries->length + tree->n)) {
        PyErr_NoMemory();
        return 0;
    }
    b->pass.block_count = tree_divide(tree, at, b->numbers + 2 * (size_t)b->pass.n, b->blocks, b->pass.block_count);
    return 1;
}

static int batch_run(Batch *b, PyObject *out)
{
    Pass *pass = &b->pass;
    Model *m = pass->model;
    Py_buffer hidden;
    size_t longest = 0;
    for (; b->entered < b->count; b->entered++) {
        CacheObject *cache = b->asked[b->entered].cache;
        if (!enter(&cache->busy)) return 0;
        cache->entries.written = 0;
        size_t length = cache->entries.length + b->trees[b->entered].n;
        if (length > longest) longest = length;
    }
    b->numbers = malloc(3 * (size_t)pass->n * sizeof *b->numbers);
    b->blocks = malloc((size_t)pass->n * sizeof *b->blocks);
    if (!b->numbers || !b->blocks || scratch_rows(m, pass->n) || scratch_attention(m, longest)) {
        PyErr_NoMemory();
        return 0;
    }
    for (int i = 0; i < b->count; i++)
        if (!batch_read(b, i)) return 0;
    if (!get_buffer(out, "hidden", "f", 4, (Py_ssize_t)pass->n * m->sizes.hidden, 1, &hidden)) return 0;
    pass->trees = b->trees;
    pass->blocks = b->blocks;
    pass->tokens = b->numbers;
    pass->positions = b->numbers + pass->n;
    pass->tree = b->numbers + 2 * (size_t)pass->n;
    pass->hidden = hidden.buf;
    Py_BEGIN_ALLOW_THREADS
    m->instructions->forward(pass);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&hidden);
    for (int i = 0; i < b->count; i++) b->trees[i].entries->written = b->trees[i].n;
    return 1;
}

static PyObject *model_run(ModelObject *self, PyObject *args)
{
    PyObject *given, *out;
    State *state = PyType_GetModuleState(Py_TYPE(self));
    Batch b = {.pass = {.model = &self->model}};
    if (!state || !PyArg_ParseTuple(args, "OO", &given, &out)) return NULL;
    PyObject *items = PySequence_Tuple(given); /* nobody can change it meanwhile, so it keeps the caches alive */
    if (!items) return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    int ok = count >= 1 && count <= MAX_TREES;
    if (!ok) PyErr_Format(PyExc_ValueError, "a pass takes 1 to %d trees, got %zd", MAX_TREES, count);
    for (Py_ssize_t i = 0; ok && i < count; i++) ok = batch_add(&b, state, self, PyTuple_GET_ITEM(items, i));
    if (ok && (ok = enter(&self->busy))) {
        ok = batch_run(&b, out);
        for (int i = 0; i < b.entered; i++) b.asked[i].cache->busy = 0;
        self->busy = 0;
    }
    free(b.numbers);
    free(b.blocks);
    Py_DECREF(items);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

#endif
