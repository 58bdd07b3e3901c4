/* recap.targets.cpu._passes: Model and Cache as Python types. compiled.py gives them numpy arrays. */
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

static PyObject *done(int *busy, int ok)
{
    *busy = 0;
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

static PyObject *model_set_layer(ModelObject *self, PyObject *args)
{
    const Sizes *s = &self->model.sizes;
    PyObject *before, *q, *k, *v, *out, *after, *gate, *up, *down;
    int index;
    if (!PyArg_ParseTuple(args, "iOOOOOOOOO", &index, &before, &q, &k, &v, &out, &after, &gate, &up, &down)) return NULL;
    if (index < 0 || index >= s->layers) return PyErr_Format(PyExc_IndexError, "there is no layer %d", index);
    if (!enter(&self->busy)) return NULL;
    Layer *l = self->model.layer + index;
    int queries = s->heads * s->head_size, keys = s->kv_heads * s->head_size, first = queries / s->width;
    return done(&self->busy, take_floats(before, "the norm before attention", l->before, s->hidden) &&
                                 take_floats(after, "the norm after attention", l->after, s->hidden) &&
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
                                 take_floats(norm, "the last norm", m->norm, m->sizes.hidden) &&
                                 take_floats(cosines, "cosines", m->cosines, turns) &&
                                 take_floats(sines, "sines", m->sines, turns));
}

static int run_pass(ModelObject *self, CacheObject *cache, PyObject *tokens, PyObject *depths, PyObject *mask,
                    int offset, PyObject *out)
{
    Model *m = &self->model;
    Py_ssize_t n = buffer_items(tokens, 8);
    Py_buffer hidden;
    int ok = 0;
    if (n < 0) return 0;
    if (n < 1 || n > 4096) {
        PyErr_Format(PyExc_ValueError, "a pass takes 1 to 4096 tokens, got %zd", n);
        return 0;
    }
    Pass pass = {.model = m, .entries = &cache->entries, .n = (int)n};
    size_t length = cache->entries.length + n;
    int32_t *ids = read_numbers(tokens, "tokens", n, m->sizes.vocabulary, 0), *places = NULL;
    if (ids) places = read_numbers(depths, "depths", n, m->sizes.positions, (int64_t)cache->entries.length + offset);
    pass.tokens = ids;
    pass.positions = places;
    if (!places || !get_buffer(out, "hidden", "f", 4, n * m->sizes.hidden, 1, &hidden)) goto end;
    pass.hidden = hidden.buf;
    cache->entries.written = 0;
    if (scratch_rows(m, n) || scratch_attention(m, length) || entries_reserve(&cache->entries, length)) {
        PyErr_NoMemory();
    } else if (read_ancestors(&m->scratch, mask, n)) {
        Py_BEGIN_ALLOW_THREADS
        m->instructions->forward(&pass);
        Py_END_ALLOW_THREADS
        cache->entries.written = n;
        ok = 1;
    }
    PyBuffer_Release(&hidden);
end:
    free(ids);
    free(places);
    return ok;
}

static PyObject *model_run(ModelObject *self, PyObject *args)
{
    PyObject *cache, *tokens, *depths, *mask, *out;
    int offset;
    State *state = PyType_GetModuleState(Py_TYPE(self));
    if (!state || !PyArg_ParseTuple(args, "O!OOOiO", state->cache, &cache, &tokens, &depths, &mask, &offset, &out))
        return NULL;
    CacheObject *c = (CacheObject *)cache;
    if (c->owner != self) return PyErr_Format(PyExc_ValueError, "this cache belongs to another model");
    if (!enter(&self->busy)) return NULL;
    if (!enter(&c->busy)) return done(&self->busy, 0);
    int ok = run_pass(self, c, tokens, depths, mask, offset, out);
    c->busy = 0;
    return done(&self->busy, ok);
}

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
    int32_t *kept = read_numbers(entries, "entries", count, (int64_t)e->written, 0);
    if (!kept) return done(&self->busy, 0);
    for (Py_ssize_t i = 1; i < count; i++)
        if (kept[i] <= kept[i - 1]) {
            free(kept);
            PyErr_SetString(PyExc_ValueError, "entries must be given by rising index");
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

static PyMethodDef model_methods[] = {
    {"set_layer", (PyCFunction)(void (*)(void))model_set_layer, METH_VARARGS,
     "set_layer(index, norm, q, k, v, out, norm, gate, up, down)"},
    {"set_ends", (PyCFunction)(void (*)(void))model_set_ends, METH_VARARGS, "set_ends(embedding, norm, cosines, sines)"},
    {"run", (PyCFunction)(void (*)(void))model_run, METH_VARARGS, "run(cache, tokens, depths, mask, offset, hidden)"},
    {"top", (PyCFunction)(void (*)(void))model_top, METH_VARARGS, "top(hidden, k, ids, values)"},
    {"logits", (PyCFunction)(void (*)(void))model_logits, METH_VARARGS, "logits(hidden, out)"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef model_fields[] = {
    {"instructions", (getter)model_instructions, NULL, "Name of the vector instructions in use.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

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

static PyType_Slot model_slots[] = {
    {Py_tp_doc, "A language model's weights and kernels. Use recap.targets.cpu.Passes, which gives it numpy arrays."},
    {Py_tp_new, model_new}, {Py_tp_dealloc, model_dealloc}, {Py_tp_methods, model_methods},
    {Py_tp_getset, model_fields}, {0, NULL},
};

static PyType_Slot cache_slots[] = {
    {Py_tp_doc, "Cache(model): keys and values of what was read."},
    {Py_tp_new, cache_new}, {Py_tp_dealloc, cache_dealloc}, {Py_tp_methods, cache_methods},
    {Py_tp_getset, cache_fields}, {0, NULL},
};

static PyType_Spec model_spec = {"recap.targets.cpu._passes.Model", sizeof(ModelObject), 0, Py_TPFLAGS_DEFAULT,
                                 model_slots};
static PyType_Spec cache_spec = {"recap.targets.cpu._passes.Cache", sizeof(CacheObject), 0, Py_TPFLAGS_DEFAULT,
                                 cache_slots};

static int module_exec(PyObject *module)
{
    State *state = PyModule_GetState(module);
    state->model = (PyTypeObject *)PyType_FromModuleAndSpec(module, &model_spec, NULL);
    state->cache = (PyTypeObject *)PyType_FromModuleAndSpec(module, &cache_spec, NULL);
    if (!state->model || !state->cache) return -1;
    return PyModule_AddType(module, state->model) < 0 ? -1 : PyModule_AddType(module, state->cache);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->model);
    Py_VISIT(state->cache);
    return 0;
}

static int module_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->model);
    Py_CLEAR(state->cache);
    return 0;
}

static void module_free(void *module) { module_clear(module); }

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_passes", .m_size = sizeof(State),
                             .m_slots = module_slots, .m_traverse = module_traverse, .m_clear = module_clear,
                             .m_free = module_free};

PyMODINIT_FUNC PyInit__passes(void) { return PyModuleDef_Init(&module); }
