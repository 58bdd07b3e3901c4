/* From C arrays to one bytearray per result, which compiled.py views as numpy arrays. */
#ifndef RECAP_RESULTS_H
#define RECAP_RESULTS_H

#include "arguments.h"

/* The next array of the buffer. */
static void *take(char **at, size_t count, size_t size)
{
    char *array = *at;
    *at += count * size;
    return array;
}

static PyObject *pack_draft(const Tree *t)
{
    size_t n = (size_t)t->count;
    size_t bytes = n * (8 * sizeof(double) + 2 * sizeof(int32_t) + n);
    PyObject *buffer = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (!buffer) return NULL;
    char *at = PyByteArray_AS_STRING(buffer);
    int64_t *tokens = take(&at, n, sizeof(int64_t));
    double *scores = take(&at, n, sizeof(double));
    double *weights = take(&at, SOURCES * n, sizeof(double));
    double *shares = take(&at, SOURCES * n, sizeof(double));
    int32_t *parents = take(&at, n, sizeof(int32_t));
    int32_t *depths = take(&at, n, sizeof(int32_t));
    char *mask = at;
    for (size_t i = 0; i < n; i++) {
        const Node *node = t->nodes + i;
        tokens[i] = node->token;
        scores[i] = node->score;
        parents[i] = node->parent;
        depths[i] = node->depth;
        memcpy(weights + SOURCES * i, node->weights, sizeof node->weights);
        memcpy(shares + SOURCES * i, node->shares, sizeof node->shares);
        if (i) /* a node sees what its parent sees, and itself */
            memcpy(mask + i * n, mask + (size_t)node->parent * n, n);
        else
            memset(mask, 0, n);
        mask[i * n + i] = 1;
    }
    return buffer;
}

static PyObject *pack_row(const Memory *m, const Word *row)
{
    size_t k = (size_t)m->top_k;
    PyObject *buffer = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(k * (sizeof(int64_t) + sizeof(float))));
    if (!buffer) return NULL;
    char *at = PyByteArray_AS_STRING(buffer);
    int64_t *ids = take(&at, k, sizeof(int64_t));
    float *probs = (float *)at;
    for (size_t i = 0; i < k; i++) {
        ids[i] = row_ids(m, row)[i].id;
        probs[i] = row_probs(m, row)[i].number;
    }
    return buffer;
}

/* Every row of U: tokens, ids, probabilities. */
static PyObject *pack_rows(const Memory *u)
{
    size_t n = u->count, k = (size_t)u->top_k;
    PyObject *buffer = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * (1 + 2 * k) * sizeof(Word)));
    if (!buffer) return NULL;
    char *at = PyByteArray_AS_STRING(buffer);
    Word *tokens = take(&at, n, sizeof(Word)), *ids = take(&at, n * k, sizeof(Word)), *probs = (Word *)at;
    for (uint32_t i = 0; i < u->count; i++) {
        const Word *row = memory_row(u, i);
        tokens[i] = *row;
        memcpy(ids + i * k, row_ids(u, row), k * sizeof(Word));
        memcpy(probs + i * k, row_probs(u, row), k * sizeof(Word));
    }
    return buffer;
}

static PyObject *pack_fused(const Fused *f)
{
    size_t n = (size_t)f->count;
    PyObject *buffer = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * (sizeof(int64_t) + sizeof(double))));
    if (!buffer) return NULL;
    char *at = PyByteArray_AS_STRING(buffer);
    int64_t *ids = take(&at, n, sizeof(int64_t));
    double *probs = (double *)at;
    for (size_t i = 0; i < n; i++) {
        ids[i] = f->candidates[f->order[i]].id;
        probs[i] = fused_probability(f, (int)i);
    }
    return buffer;
}

/* Rows under every node's own context: (buffer, rows in the table). */
static PyObject *pack_explanation(const Engine *e)
{
    const Tree *t = &e->tree;
    size_t n = (size_t)t->count, k = (size_t)e->top_k, most = 4 * n;
    size_t bytes = most * (k * (sizeof(float) + sizeof(int32_t)) + sizeof(float)) + n * 4 * sizeof(int32_t);
    PyObject *buffer = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (!buffer) return NULL;
    char *at = PyByteArray_AS_STRING(buffer);
    int32_t *rows = take(&at, SOURCES * n, sizeof(int32_t));
    int32_t *fused = take(&at, n, sizeof(int32_t));
    int32_t *ids = take(&at, most * k, sizeof(int32_t));
    Word *probs = take(&at, most * k, sizeof(Word));
    float *confidences = (float *)at;
    int32_t count = 0;
    Fused f;
    for (size_t i = 0; i < n; i++) {
        fuse(e->memories, e->kept, &e->fusion, &t->nodes[i].context, &f);
        for (int s = 0; s < SOURCES; s++) {
            const Memory *m = e->memories + s;
            rows[SOURCES * i + (size_t)s] = f.rows[s] ? count : -1;
            if (!f.rows[s]) continue;
            memcpy(ids + (size_t)count * k, row_ids(m, f.rows[s]), k * sizeof(int32_t));
            memcpy(probs + (size_t)count * k, row_probs(m, f.rows[s]), k * sizeof(float));
            confidences[count++] = row_confidence(m, f.rows[s]);
        }
        fused[i] = f.count ? count : -1;
        if (!f.count) continue;
        for (size_t j = 0; j < k; j++) {
            ids[(size_t)count * k + j] = f.candidates[f.order[j]].id;
            probs[(size_t)count * k + j].number = (float)fused_probability(&f, (int)j);
        }
        confidences[count] = confidence_of(probs + (size_t)count * k, e->top_k);
        count++;
    }
    return Py_BuildValue("Nni", buffer, (Py_ssize_t)n, (int)count);
}

#endif
