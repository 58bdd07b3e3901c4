/* Making a Model and giving it its weights. */
#ifndef RECAP_MODEL_WEIGHTS_H
#define RECAP_MODEL_WEIGHTS_H

#include "objects.h"

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Sizes s = {0};
    int threads;
    const char *name;
    static char *names[] = {"layers", "hidden", "heads", "kv_heads", "head_size", "mlp", "vocabulary", "positions",
                            "epsilon", "wide", "threads", "instructions", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iiiiiiiifpis", names, &s.layers, &s.hidden, &s.heads, &s.kv_heads,
                                     &s.head_size, &s.mlp, &s.vocabulary, &s.positions, &s.epsilon, &s.wide, &threads,
                                     &name))
        return NULL;
    int64_t most = 1 << 20;
    if (s.layers < 1 || s.hidden < 1 || s.heads < 1 || s.kv_heads < 1 || s.head_size < 1 || s.mlp < 1 ||
        s.vocabulary < 1 || s.positions < 1 || s.layers > 4096 || s.hidden > most || s.heads > 4096 ||
        s.head_size > 4096 || s.mlp > most || s.vocabulary > 16 * most || s.positions > 16 * most)
        return PyErr_Format(PyExc_ValueError, "a size is out of range");
    if (s.hidden % MAX_WIDTH || s.head_size % MAX_WIDTH || s.mlp % MAX_WIDTH)
        return PyErr_Format(PyExc_ValueError, "hidden, head_size and mlp must be multiples of %d", MAX_WIDTH);
    if (s.heads % s.kv_heads || s.heads / s.kv_heads > MAX_GROUP)
        return PyErr_Format(PyExc_ValueError, "heads must be kv_heads times 1 to %d", MAX_GROUP);
    if (threads < 1 || threads > MAX_THREADS)
        return PyErr_Format(PyExc_ValueError, "threads must be from 1 to %d, got %d", MAX_THREADS, threads);
    const struct Instructions *instructions = instructions_find(name);
    if (!instructions) return PyErr_Format(PyExc_ValueError, "this processor has no instructions %s", name);
    s.width = instructions->width;

    ModelObject *self = (ModelObject *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->model.instructions = instructions;
    self->model.threads = threads;
    pool_start(&self->model.pool, threads);
    if (model_make(&self->model, &s)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void model_dealloc(ModelObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (self->model.instructions) pool_stop(&self->model.pool);
    model_free(&self->model);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Weights (rows, inputs) from bfloat16 (as 16-bit integers) or float32 into panels first, first + step, ... */
static int take_matrix(ModelObject *self, PyObject *object, const char *name, const Matrix *m, int rows, int first,
                       int step)
{
    Py_buffer view;
    Py_ssize_t items = (Py_ssize_t)rows * m->inputs;
    int wide = 0;
    if (!get_buffer(object, name, "hH", 2, items, 0, &view)) {
        if (!self->model.sizes.wide) return 0;
        PyErr_Clear();
        if (!get_buffer(object, name, "f", 4, items, 0, &view)) return 0;
        wide = 1;
    }
    Py_BEGIN_ALLOW_THREADS
    pack(&self->model, m, view.buf, wide, rows, first, step);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return 1;
}

static int take_floats(PyObject *object, const char *name, float *to, Py_ssize_t count)
{
    Py_buffer view;
    if (!get_buffer(object, name, "f", 4, count, 0, &view)) return 0;
    memcpy(to, view.buf, (size_t)count * sizeof(float));
    PyBuffer_Release(&view);
    return 1;
}

static PyObject *model_set_layer(ModelObject *self, PyObject *args)
{
    const Sizes *s = &self->model.sizes;
    PyObject *before, *q, *k, *v, *out, *after, *gate, *up, *down;
    int index;
    if (!PyArg_ParseTuple(args, "iOOOOOOOOO", &index, &before, &q, &k, &v, &out, &after, &gate, &up, &down))
        return NULL;
    if (index < 0 || index >= s->layers) return PyErr_Format(PyExc_IndexError, "there is no layer %d", index);
    if (!enter(&self->busy)) return NULL;
    Layer *l = self->model.layer + index;
    int queries = s->heads * s->head_size, keys = s->kv_heads * s->head_size, first = queries / s->width;
    return done(&self->busy, take_floats(before, "norm before attention", l->before, s->hidden) &&
                                 take_floats(after, "norm after attention", l->after, s->hidden) &&
                                 take_matrix(self, q, "q", &l->qkv, queries, 0, 1) &&
                                 take_matrix(self, k, "k", &l->qkv, keys, first, 1) &&
                                 take_matrix(self, v, "v", &l->qkv, keys, first + keys / s->width, 1) &&
                                 take_matrix(self, out, "out", &l->out, s->hidden, 0, 1) &&
                                 take_matrix(self, gate, "gate", &l->up, s->mlp, 0, 2) &&
                                 take_matrix(self, up, "up", &l->up, s->mlp, 1, 2) &&
                                 take_matrix(self, down, "down", &l->down, s->hidden, 0, 1));
}

static PyObject *model_set_ends(ModelObject *self, PyObject *args)
{
    Model *m = &self->model;
    Py_ssize_t turns = (Py_ssize_t)m->sizes.positions * m->sizes.head_size / 2;
    PyObject *embedding, *norm, *cosines, *sines;
    if (!PyArg_ParseTuple(args, "OOOO", &embedding, &norm, &cosines, &sines) || !enter(&self->busy)) return NULL;
    return done(&self->busy, take_matrix(self, embedding, "embedding", &m->head, m->sizes.vocabulary, 0, 1) &&
                                 take_floats(norm, "last norm", m->norm, m->sizes.hidden) &&
                                 take_floats(cosines, "cosines", m->cosines, turns) &&
                                 take_floats(sines, "sines", m->sines, turns));
}

#endif
