/* Python's buffers, checked. A view is held for as long as its memory is used. */
#ifndef RECAP_BUFFERS_H
#define RECAP_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "instructions.h"

/* A contiguous buffer of `count` items whose format is one of `formats`. 0 with an exception that names it, or 1. */
static int get_buffer(PyObject *object, const char *name, const char *formats, Py_ssize_t itemsize, Py_ssize_t count,
                      int writable, Py_buffer *view)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)) < 0)
        return 0;
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=') format++;
    if (!*format || format[1] || !strchr(formats, *format) || view->itemsize != itemsize)
        PyErr_Format(PyExc_ValueError, "%s has the wrong type of items (%s)", name, format);
    else if (view->len / itemsize != count)
        PyErr_Format(PyExc_ValueError, "%s must have %zd items, got %zd", name, count, view->len / itemsize);
    else
        return 1;
    PyBuffer_Release(view);
    return 0;
}

static Py_ssize_t buffer_items(PyObject *object, Py_ssize_t itemsize)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) return -1;
    Py_ssize_t items = view.len / itemsize;
    PyBuffer_Release(&view);
    return items;
}

/* `count` int64 as int32, each plus `add` and then from 0 to below `end`, into `numbers`. 0 with an exception. */
static int read_numbers(PyObject *object, const char *name, Py_ssize_t count, int64_t end, int64_t add, int32_t *numbers)
{
    Py_buffer view;
    int ok = 1;
    if (!get_buffer(object, name, "lq", 8, count, 0, &view)) return 0;
    for (Py_ssize_t i = 0; ok && i < count; i++) {
        int64_t value = ((const int64_t *)view.buf)[i];
        ok = value >= -end && value + add >= 0 && value + add < end;
        if (ok)
            numbers[i] = (int32_t)(value + add);
        else
            PyErr_Format(PyExc_ValueError, "%s must lie between %lld and %lld; number %zd is %lld", name,
                         (long long)-add, (long long)(end - add - 1), i, (long long)value);
    }
    PyBuffer_Release(&view);
    return ok;
}

/* Ancestors of a tree's nodes, counted from its root, from the (n, n) mask; behind those of the nodes before `first`, in
 * scratch memory that has room for them. 0 with an exception. */
static int read_ancestors(Scratch *s, PyObject *object, Py_ssize_t first, Py_ssize_t n)
{
    Py_buffer view;
    int32_t count = first ? s->first[first] : 0;
    int ok = 1;
    if (!get_buffer(object, "mask", "?Bb", 1, n * n, 0, &view)) return 0;
    for (Py_ssize_t i = 0; i < n && ok; i++) {
        const char *row = (const char *)view.buf + i * n;
        s->first[first + i] = count;
        for (Py_ssize_t j = 0; j < i; j++)
            if (row[j]) s->ancestors[count++] = (int32_t)j;
        s->ancestors[count++] = (int32_t)i;
        ok = row[i] && !memchr(row + i + 1, 1, n - i - 1);
    }
    s->first[first + n] = count;
    PyBuffer_Release(&view);
    if (!ok) PyErr_SetString(PyExc_ValueError, "mask must show every node itself and none that comes after it");
    return ok;
}

#endif
