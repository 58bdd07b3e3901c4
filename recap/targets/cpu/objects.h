/* What the types share: their objects, and who may be inside one. */
#ifndef RECAP_OBJECTS_H
#define RECAP_OBJECTS_H

#include "buffers.h"

typedef struct {
    PyObject_HEAD
    Model model;
    int busy;
} ModelObject;

typedef struct {
    PyObject_HEAD
    ModelObject *owner;
    Entries entries;
    int busy;
} CacheObject;

typedef struct {
    PyTypeObject *model, *cache;
} State;

/* Read and set under the GIL; only the passes themselves run without it. */
static int enter(int *busy)
{
    if (*busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is in the middle of a pass");
        return 0;
    }
    return *busy = 1;
}

static PyObject *done(int *busy, int ok)
{
    *busy = 0;
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

#endif
