/* The Core object: what it holds, who may use it, how it is made and freed. */
#ifndef RECAP_CORE_TYPE_H
#define RECAP_CORE_TYPE_H

#include "base.h"

typedef struct {
    PyObject_HEAD
    Engine engine;
    PyObject *base;  /* keeps the rows behind U; NULL for none */
    int busy, ready; /* ready: a request has begun and its text is whole */
} Core;

/* A flag is enough: it is read and set under the GIL, and only the engine's long work runs without it. */
static int enter(Core *self, int needs_request)
{
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "this Drafter is in use by another thread; give each thread its own");
        return 0;
    }
    if (needs_request && !self->ready) {
        PyErr_SetString(PyExc_RuntimeError, "no request has begun; call begin(prompt_ids) first");
        return 0;
    }
    return self->busy = 1;
}

static PyObject *leave(Core *self, PyObject *result)
{
    self->busy = 0;
    return result;
}

static PyObject *leave_with(Core *self, int failed)
{
    self->busy = 0;
    if (failed) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static int read_doubles(PyObject *values, double *out, int most)
{
    int count = (int)PyTuple_GET_SIZE(values);
    if (count < 1 || count > most) {
        PyErr_Format(PyExc_ValueError, "from 1 to %d numbers expected, got %d", most, count);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        out[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(values, i));
        if (out[i] == -1.0 && PyErr_Occurred()) return -1;
    }
    return count;
}

static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    int top_k, width, max_depth, rule, kept, persistent, use_suffix, fixed, given, depths;
    PyObject *priors, *depth_priors, *base = Py_None;
    const Memory *behind = NULL;
    FusionSettings fusion = {0};
    SearchSettings search = {0};
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Core takes positional arguments only");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "iiiiipppO!O!|O", &top_k, &width, &max_depth, &rule, &kept, &persistent, &use_suffix,
                          &fixed, &PyTuple_Type, &priors, &PyTuple_Type, &depth_priors, &base))
        return NULL;
    if ((given = read_doubles(priors, fusion.priors, 3)) < 0 ||
        (depths = read_doubles(depth_priors, search.depth_priors, 64)) < 0)
        return NULL;
    if (given != 3 || top_k < 1 || top_k > MAX_TOP_K || width < 1 || width > top_k || max_depth < 1 || max_depth > 64 ||
        rule < FUSE_ENTROPY || rule > FUSE_BACKOFF || kept < 1 || kept > SOURCES) {
        PyErr_SetString(PyExc_ValueError, "a setting is out of range");
        return NULL;
    }
    if (base != Py_None && !(behind = read_base(base, top_k))) return NULL;
    Core *self = (Core *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    fusion.rule = rule;
    search.width = width;
    search.max_depth = max_depth;
    search.depth_prior_count = depths;
    self->engine.fusion = fusion;
    self->engine.search = search;
    self->engine.kept = kept;
    self->engine.persistent = persistent;
    self->engine.use_suffix = use_suffix;
    self->engine.fixed = fixed;
    engine_init(&self->engine, top_k);
    self->engine.memories[SOURCE_U].behind = behind;
    self->base = behind ? Py_NewRef(base) : NULL;
    return (PyObject *)self;
}

static void core_dealloc(Core *self)
{
    PyTypeObject *type = Py_TYPE(self);
    engine_free(&self->engine);
    Py_XDECREF(self->base);
    type->tp_free(self);
    Py_DECREF(type);
}

#endif
