/* Cache as a Python type. */
#ifndef RECAP_CACHE_TYPE_H
#define RECAP_CACHE_TYPE_H

#include "objects.h"

static PyObject *cache_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *owner;
    State *state = PyType_GetModuleState(type);
    if (!state) return NULL;
    if (kwargs && PyDict_GET_SIZE(kwargs)) return PyErr_Format(PyExc_TypeError, "Cache takes one Model");
    if (!PyArg_ParseTuple(args, "O!", state->model, &owner)) return NULL;
    CacheObject *self = (CacheObject *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->owner = (ModelObject *)Py_NewRef(owner);
    entries_init(&self->entries, &self->owner->model.sizes);
    return (PyObject *)self;
}

static void cache_dealloc(CacheObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    entries_free(&self->entries);
    Py_XDECREF(self->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *cache_keep(CacheObject *self, PyObject *entries)
{
    Entries *e = &self->entries;
    Py_ssize_t count = buffer_items(entries, 8);
    if (count < 0 || !enter(&self->busy)) return NULL;
    int32_t *kept = malloc((size_t)(count ? count : 1) * sizeof *kept);
    int ok = kept && read_numbers(entries, "entries", count, (int64_t)e->written, 0, kept);
    if (!kept) PyErr_NoMemory();
    for (Py_ssize_t i = 1; ok && i < count; i++) {
        ok = kept[i] > kept[i - 1];
        if (!ok) PyErr_SetString(PyExc_ValueError, "entries must be given by rising index");
    }
    if (!ok) {
        free(kept);
        return done(&self->busy, 0);
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (kept[i] != i) entries_move(e, e->length + kept[i], e->length + i);
    e->length += count;
    e->written = 0;
    free(kept);
    return done(&self->busy, 1);
}

static PyObject *cache_truncate(CacheObject *self, PyObject *object)
{
    Entries *e = &self->entries;
    Py_ssize_t length = PyLong_AsSsize_t(object);
    if (length == -1 && PyErr_Occurred()) return NULL;
    if (length < 0 || (size_t)length > e->length)
        return PyErr_Format(PyExc_ValueError, "cannot truncate a cache of %zu entries to %zd", e->length, length);
    if (!enter(&self->busy)) return NULL;
    e->length = length;
    e->written = 0;
    return done(&self->busy, 1);
}

static PyObject *cache_length(CacheObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(self->entries.length);
}

static PyObject *cache_capacity(CacheObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(self->entries.room);
}

static PyMethodDef cache_methods[] = {
    {"keep", (PyCFunction)(void (*)(void))cache_keep, METH_O, "keep(entries)"},
    {"truncate", (PyCFunction)(void (*)(void))cache_truncate, METH_O, "truncate(length)"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef cache_fields[] = {
    {"length", (getter)cache_length, NULL, "Entries kept.", NULL},
    {"capacity", (getter)cache_capacity, NULL, "Entries that fit before the buffers grow.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot cache_slots[] = {
    {Py_tp_doc, "Cache(model): keys and values of what was read."},
    {Py_tp_new, cache_new}, {Py_tp_dealloc, cache_dealloc}, {Py_tp_methods, cache_methods},
    {Py_tp_getset, cache_fields}, {0, NULL},
};

static PyType_Spec cache_spec = {"recap.targets.cpu._passes.Cache", sizeof(CacheObject), 0, Py_TPFLAGS_DEFAULT,
                                 cache_slots};

#endif
