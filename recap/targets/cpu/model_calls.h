/* What a Model is asked beside passes: what its head says of hidden states. */
#ifndef RECAP_MODEL_CALLS_H
#define RECAP_MODEL_CALLS_H

#include "trees.h"

/* Rows of hidden states, checked, read by the head with the GIL released. */
static int read_head(Reading *r, PyObject *hidden)
{
    Py_buffer view;
    if (!get_buffer(hidden, "hidden", "f", 4, (Py_ssize_t)r->n * r->model->sizes.hidden, 0, &view)) return 0;
    r->hidden = view.buf;
    Py_BEGIN_ALLOW_THREADS
    r->model->instructions->read(r);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return 1;
}

static int head_rows(ModelObject *self, PyObject *hidden)
{
    Py_ssize_t items = buffer_items(hidden, 4), size = self->model.sizes.hidden;
    if (items < 0) return 0;
    if (!items || items % size || items / size > 4096) {
        PyErr_Format(PyExc_ValueError, "hidden must be 1 to 4096 rows of %zd float32", size);
        return 0;
    }
    return (int)(items / size);
}

static PyObject *model_top(ModelObject *self, PyObject *args)
{
    PyObject *hidden, *ids_object, *values_object;
    Py_buffer ids, values;
    Reading r = {.model = &self->model};
    if (!PyArg_ParseTuple(args, "OiOO", &hidden, &r.k, &ids_object, &values_object)) return NULL;
    if (r.k < 1 || r.k > MAX_TOP_K || r.k > self->model.sizes.vocabulary)
        return PyErr_Format(PyExc_ValueError, "k must be from 1 to %d, got %d", MAX_TOP_K, r.k);
    if (!(r.n = head_rows(self, hidden)) || !enter(&self->busy)) return NULL;
    int ok = 0;
    if (!get_buffer(ids_object, "ids", "lq", 8, (Py_ssize_t)r.n * r.k, 1, &ids)) return done(&self->busy, 0);
    if (!get_buffer(values_object, "values", "f", 4, (Py_ssize_t)r.n * r.k, 1, &values)) goto release;
    if (scratch_best(&self->model, r.n, r.k)) {
        PyErr_NoMemory();
    } else if (read_head(&r, hidden)) {
        for (int i = 0; i < r.n * r.k; i++) {
            ((int64_t *)ids.buf)[i] = self->model.scratch.best[i].id;
            ((float *)values.buf)[i] = self->model.scratch.best[i].value;
        }
        ok = !r.broken;
        if (!ok)
            PyErr_SetString(PyExc_FloatingPointError, "the model produced NaN or infinite logits; check the weights");
    }
    PyBuffer_Release(&values);
release:
    PyBuffer_Release(&ids);
    return done(&self->busy, ok);
}

static PyObject *model_logits(ModelObject *self, PyObject *args)
{
    PyObject *hidden, *out;
    Py_buffer logits;
    Reading r = {.model = &self->model};
    if (!PyArg_ParseTuple(args, "OO", &hidden, &out) || !(r.n = head_rows(self, hidden)) || !enter(&self->busy))
        return NULL;
    if (!get_buffer(out, "logits", "f", 4, (Py_ssize_t)r.n * self->model.sizes.vocabulary, 1, &logits))
        return done(&self->busy, 0);
    r.logits = logits.buf;
    int ok = read_head(&r, hidden);
    PyBuffer_Release(&logits);
    return done(&self->busy, ok);
}

static PyObject *model_instructions(ModelObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(self->model.instructions->name);
}

#endif
