/* Rows of U that many cores share: one copy, checked once, never written again. A capsule counts who uses it. */
#ifndef RECAP_BASE_H
#define RECAP_BASE_H

#include "arguments.h"

#define BASE_NAME "recap.drafter.base"
#define SUM_TOLERANCE 1e-3 /* rounding to float32 loses far less */

typedef enum { BASE_OK, BASE_ID_RANGE, BASE_ID_TWICE, BASE_PROBS, BASE_TOKEN_TWICE, BASE_NO_MEMORY } BaseError;

static void base_free(PyObject *capsule)
{
    Memory *base = PyCapsule_GetPointer(capsule, BASE_NAME);
    if (!base) return;
    memory_free(base);
    free(base);
}

/* Probabilities as a row has them: falling, from 0 to 1, 1 in all. */
static int are_probabilities(const Word *probs, int top_k)
{
    double sum = 0.0;
    for (int i = 0; i < top_k; i++) {
        float p = probs[i].number;
        if (!(p >= 0.0f && p <= (i ? probs[i - 1].number : 1.0f))) return 0;
        sum += p;
    }
    return fabs(sum - 1.0) <= SUM_TOLERANCE;
}

static BaseError base_store(Memory *base, int32_t token, const Py_buffer *ids, const Py_buffer *probs, Py_ssize_t row)
{
    Word prediction[1 + 2 * MAX_TOP_K], *out_ids = prediction + 1;
    Word *out_probs = out_ids + base->top_k;
    uint32_t before = base->count;
    for (int i = 0; i < base->top_k; i++) {
        int64_t id = integer_at(ids, row * base->top_k + i);
        if (id < 0 || id > INT32_MAX) return BASE_ID_RANGE;
        out_ids[i].id = (int32_t)id;
    }
    memcpy(out_probs, (const float *)probs->buf + row * base->top_k, (size_t)base->top_k * sizeof(float));
    if (!all_differ(out_ids, base->top_k)) return BASE_ID_TWICE;
    if (!are_probabilities(out_probs, base->top_k)) return BASE_PROBS;
    prediction->number = confidence_of(out_probs, base->top_k);
    if (memory_store(base, &token, prediction) < 0) return BASE_NO_MEMORY;
    return base->count == before ? BASE_TOKEN_TWICE : BASE_OK;
}

static void set_base_error(BaseError error, Py_ssize_t row)
{
    switch (error) {
    case BASE_ID_RANGE: set_prediction_error(ID_RANGE, row); break;
    case BASE_ID_TWICE: set_prediction_error(ID_TWICE, row); break;
    case BASE_PROBS:
        PyErr_Format(PyExc_ValueError, "probs must fall from at most 1 to at least 0 within a row and add up to 1; row %zd "
                     "does not", row);
        break;
    case BASE_TOKEN_TWICE: PyErr_Format(PyExc_ValueError, "token_ids must differ; row %zd repeats one", row); break;
    default: PyErr_NoMemory();
    }
}

/* A capsule with the rows; NULL with an exception. */
static PyObject *base_from(const int32_t *tokens, int32_t count, const Py_buffer *ids, const Py_buffer *probs, int top_k)
{
    BaseError error = BASE_OK;
    int32_t row = 0;
    Memory *base = malloc(sizeof *base);
    if (!base) return PyErr_NoMemory();
    memory_init(base, 1, top_k);
    BEGIN_WORK(count)
    while (row < count && !(error = base_store(base, tokens[row], ids, probs, row))) row++;
    END_WORK
    PyObject *capsule = NULL;
    if (error)
        set_base_error(error, row);
    else
        capsule = PyCapsule_New(base, BASE_NAME, base_free);
    if (!capsule) {
        memory_free(base);
        free(base);
    }
    return capsule;
}

/* make_base(token_ids, ids, probs, top_k) -> (base, bytes) */
static PyObject *make_base(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *tokens_object, *ids_object, *probs_object, *capsule = NULL;
    Py_buffer ids, probs;
    int32_t *tokens, count;
    int top_k;
    if (!PyArg_ParseTuple(args, "OOOi", &tokens_object, &ids_object, &probs_object, &top_k)) return NULL;
    if (top_k < 1 || top_k > MAX_TOP_K) return PyErr_Format(PyExc_ValueError, "top_k must be from 1 to %d", MAX_TOP_K);
    if (!(tokens = read_tokens(tokens_object, "token_ids", &count))) return NULL;
    if (!get_integers(ids_object, "ids", &ids)) {
        free(tokens);
        return NULL;
    }
    if (PyObject_GetBuffer(probs_object, &probs, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) {
        Py_ssize_t wanted = (Py_ssize_t)count * top_k;
        if (probs.itemsize != 4 || !probs.format || strcmp(probs.format, "f") != 0)
            PyErr_SetString(PyExc_ValueError, "probs must be a buffer of float32");
        else if (ids.len / ids.itemsize != wanted || probs.len / probs.itemsize != wanted)
            PyErr_Format(PyExc_ValueError, "ids and probs must have shape (%d, %d)", (int)count, top_k);
        else
            capsule = base_from(tokens, count, &ids, &probs, top_k);
        PyBuffer_Release(&probs);
    }
    PyBuffer_Release(&ids);
    free(tokens);
    if (!capsule) return NULL;
    const Memory *base = PyCapsule_GetPointer(capsule, BASE_NAME);
    return Py_BuildValue("Nn", capsule, (Py_ssize_t)(sizeof *base + memory_bytes(base)));
}

/* What a core may look up behind its own U; NULL with an exception. */
static const Memory *read_base(PyObject *object, int top_k)
{
    const Memory *base = PyCapsule_GetPointer(object, BASE_NAME);
    if (base && base->top_k != top_k) {
        PyErr_Format(PyExc_ValueError, "the base has rows of %d ids, and top_k is %d", base->top_k, top_k);
        return NULL;
    }
    return base;
}

#endif
