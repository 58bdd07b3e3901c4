/* From Python's buffers to checked C arrays. Everything is copied once and checked on the copy, so that another thread
 * changing a buffer meanwhile cannot get an unchecked value in. */
#ifndef RECAP_ARGUMENTS_H
#define RECAP_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine.h"

/* Handing over the GIL can cost a busy interpreter's whole switch interval (5 ms), so short work keeps it. */
#define LONG_WORK 4096

#define BEGIN_WORK(amount)                                                          \
    {                                                                               \
        PyThreadState *thread = (amount) >= LONG_WORK ? PyEval_SaveThread() : NULL;
#define END_WORK                                  \
        if (thread) PyEval_RestoreThread(thread); \
    }

/* A contiguous buffer of native integers of 4 or 8 bytes. 0 and a ValueError that names it, or 1. */
static int get_integers(PyObject *object, const char *name, Py_buffer *view)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return 0;
    const char *format = view->format ? view->format : "";
    if (*format == '@' || *format == '=') format++;
    if (!*format || format[1] || !strchr("ilq", *format) || (view->itemsize != 4 && view->itemsize != 8)) {
        PyErr_Format(PyExc_ValueError, "%s must be a buffer of 32- or 64-bit integers", name);
        PyBuffer_Release(view);
        return 0;
    }
    return 1;
}

static inline int64_t integer_at(const Py_buffer *view, Py_ssize_t index)
{
    return view->itemsize == 8 ? ((const int64_t *)view->buf)[index] : ((const int32_t *)view->buf)[index];
}

/* A malloc'ed copy of token ids; NULL with an exception. */
static int32_t *read_tokens(PyObject *object, const char *name, int32_t *count)
{
    Py_buffer view;
    int32_t *tokens = NULL;
    if (!get_integers(object, name, &view)) return NULL;
    Py_ssize_t n = view.len / view.itemsize, bad = -1;
    if (n > INT32_MAX / 4) {
        PyErr_Format(PyExc_ValueError, "%s is too long: %zd tokens", name, n);
    } else if (!(tokens = malloc((size_t)(n ? n : 1) * sizeof *tokens))) {
        PyErr_NoMemory();
    } else {
        BEGIN_WORK(n)
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t token = integer_at(&view, i);
            if (token < 0 || token > INT32_MAX) {
                bad = i;
                break;
            }
            tokens[i] = (int32_t)token;
        }
        END_WORK
        *count = (int32_t)n;
    }
    PyBuffer_Release(&view);
    if (bad >= 0) {
        PyErr_Format(PyExc_ValueError, "%s must lie between 0 and 2147483647; position %zd does not", name, bad);
        free(tokens);
        return NULL;
    }
    return tokens;
}

static int compare_tokens(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static PredictionError fill_predictions(Engine *e, const Py_buffer *ids, const Py_buffer *logits, Py_ssize_t rows,
                                        Py_ssize_t *bad)
{
    PredictionError error = PREDICTION_OK;
    for (Py_ssize_t row = 0; row < rows && !error; row++) {
        int64_t row_ids[MAX_TOP_K];
        float row_logits[MAX_TOP_K];
        for (int i = 0; i < e->top_k; i++) row_ids[i] = integer_at(ids, row * e->top_k + i);
        memcpy(row_logits, (const float *)logits->buf + row * e->top_k, (size_t)e->top_k * sizeof(float));
        Word *prediction = e->predictions + (size_t)row * prediction_words(e->top_k);
        error = prediction_make(prediction, row_ids, row_logits, e->top_k);
        *bad = row;
    }
    return error;
}

static int set_prediction_error(PredictionError error, Py_ssize_t row)
{
    switch (error) {
    case ID_RANGE:
        PyErr_Format(PyExc_ValueError, "ids must lie between 0 and 2147483647; row %zd does not", row);
        return 0;
    case ID_TWICE:
        PyErr_Format(PyExc_ValueError, "ids must differ within a row; row %zd repeats one", row);
        return 0;
    case LOGIT_NOT_FINITE:
        PyErr_Format(PyExc_ValueError, "logits must be finite; row %zd is not", row);
        return 0;
    default: return 1;
    }
}

/* Fill engine->predictions from (rows, K) ids and logits. 0 with an exception, or 1. */
static int read_predictions(Engine *e, PyObject *ids_object, PyObject *logits_object, Py_ssize_t rows)
{
    Py_buffer ids, logits;
    Py_ssize_t wanted = rows * e->top_k, bad = 0;
    PredictionError error = PREDICTION_OK;
    int ok = 0;
    if (!get_integers(ids_object, "ids", &ids)) return 0;
    if (PyObject_GetBuffer(logits_object, &logits, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        PyBuffer_Release(&ids);
        return 0;
    }
    if (logits.itemsize != 4 || !logits.format || strcmp(logits.format, "f") != 0)
        PyErr_SetString(PyExc_ValueError, "logits must be a buffer of float32");
    else if (ids.len / ids.itemsize != wanted)
        PyErr_Format(PyExc_ValueError, "ids must have shape (%zd, %d)", rows, e->top_k);
    else if (logits.len / logits.itemsize != wanted)
        PyErr_Format(PyExc_ValueError, "logits must have shape (%zd, %d)", rows, e->top_k);
    else if (engine_reserve_predictions(e, (size_t)rows) < 0)
        PyErr_NoMemory();
    else {
        BEGIN_WORK(wanted)
        error = fill_predictions(e, &ids, &logits, rows, &bad);
        END_WORK
        ok = set_prediction_error(error, bad);
    }
    PyBuffer_Release(&ids);
    PyBuffer_Release(&logits);
    return ok;
}

#endif
