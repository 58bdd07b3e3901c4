/* recap.drafter._core.Core: the engine as a Python type. Checks arguments and threads; compiled.py gives it numpy. */
#include "core_type.h"
#include "results.h"

static PyObject *core_begin(Core *self, PyObject *args)
{
    PyObject *prompt_object, *banned_object;
    int32_t *prompt, *banned, count, banned_count;
    int failed;
    if (!PyArg_ParseTuple(args, "OO", &prompt_object, &banned_object) || !enter(self, 0)) return NULL;
    if (!(prompt = read_tokens(prompt_object, "prompt_ids", &count))) return leave(self, NULL);
    if (!(banned = read_tokens(banned_object, "banned", &banned_count))) {
        free(prompt);
        return leave(self, NULL);
    }
    self->ready = 0;
    BEGIN_WORK((int64_t)count + banned_count)
    qsort(banned, (size_t)banned_count, sizeof *banned, compare_tokens);
    failed = engine_begin(&self->engine, prompt, count, banned, (size_t)banned_count);
    END_WORK
    free(prompt);
    self->ready = !failed;
    return leave_with(self, failed);
}

static PyObject *core_seed(Core *self, PyObject *args)
{
    PyObject *tokens_object, *ids, *logits;
    int32_t *tokens, count;
    int failed = 0;
    if (!PyArg_ParseTuple(args, "OOO", &tokens_object, &ids, &logits) || !enter(self, 1)) return NULL;
    if (!(tokens = read_tokens(tokens_object, "token_ids", &count))) return leave(self, NULL);
    if (!read_predictions(&self->engine, ids, logits, count)) {
        free(tokens);
        return leave(self, NULL);
    }
    BEGIN_WORK(count)
    for (int32_t i = 0; i < count && !failed; i++)
        failed = engine_seed(&self->engine, tokens[i], engine_prediction(&self->engine, (size_t)i));
    engine_drop_predictions(&self->engine);
    END_WORK
    free(tokens);
    return leave_with(self, failed);
}

static PyObject *core_commit(Core *self, PyObject *tokens_object)
{
    int32_t *tokens, count;
    int failed;
    if (!enter(self, 1)) return NULL;
    if (!(tokens = read_tokens(tokens_object, "token_ids", &count))) return leave(self, NULL);
    BEGIN_WORK(count)
    TIMED(&self->engine, TIME_INDEX, failed = engine_append(&self->engine, tokens, count));
    END_WORK
    free(tokens);
    self->engine.tree.count = self->engine.offered_count = 0;
    self->ready = !failed;
    return leave_with(self, failed);
}

static PyObject *core_draft(Core *self, PyObject *args)
{
    int max_nodes, suffix_tokens, failed, spare = 0;
    PyObject *buffer, *ids = NULL, *logits = NULL;
    Engine *e = &self->engine;
    if (!PyArg_ParseTuple(args, "ii|OOi", &max_nodes, &suffix_tokens, &ids, &logits, &spare)) return NULL;
    if (spare < 0 || spare > SOURCES || (spare > 0) != (logits != NULL))
        return PyErr_Format(PyExc_ValueError, "spare rows are ids, logits and their number, from 1 to 3");
    if (max_nodes < 0 || max_nodes > 1024 || suffix_tokens < 0 || suffix_tokens > SUFFIX_REACH)
        return PyErr_Format(PyExc_ValueError, "max_nodes must be from 0 to 1024 and suffix_tokens from 0 to 10");
    if (!enter(self, 1)) return NULL;
    if (!e->text_count) {
        PyErr_SetString(PyExc_RuntimeError, "nothing was committed; call commit(token_ids) first");
        return leave(self, NULL);
    }
    if (spare && !read_predictions(e, ids, logits, spare)) return leave(self, NULL);
    BEGIN_WORK(max_nodes * e->top_k)
    failed = engine_draft(e, max_nodes, suffix_tokens, spare);
    END_WORK
    if (failed) return leave_with(self, failed);
    TIMED(e, TIME_PACK, buffer = pack_draft(&e->tree));
    return leave(self, buffer ? Py_BuildValue("Niii", buffer, (int)e->tree.count, (int)e->tree.suffix_start,
                                              (int)e->tree.suffix_match) : NULL);
}

static PyObject *core_offer(Core *self, PyObject *args)
{
    PyObject *path_object;
    int32_t *path, count;
    int match;
    Engine *e = &self->engine;
    if (!PyArg_ParseTuple(args, "Oi", &path_object, &match) || !enter(self, 1)) return NULL;
    if (!(path = read_tokens(path_object, "path", &count))) return leave(self, NULL);
    if (count > SUFFIX_REACH || match < 0) {
        PyErr_SetString(PyExc_ValueError, "path may have at most 10 tokens, and match may not be negative");
        free(path);
        return leave(self, NULL);
    }
    memcpy(e->offered, path, (size_t)count * sizeof *path);
    e->offered_count = count;
    e->offered_match = match;
    free(path);
    return leave_with(self, 0);
}

static PyObject *core_observe(Core *self, PyObject *args)
{
    PyObject *ids, *logits;
    Engine *e = &self->engine;
    int failed = 0, read = 0;
    if (!PyArg_ParseTuple(args, "OO", &ids, &logits) || !enter(self, 1)) return NULL;
    TIMED(e, TIME_REFRESH, {
        read = read_predictions(e, ids, logits, e->tree.count);
        if (read) failed = engine_observe(e);
    });
    return read ? leave_with(self, failed) : leave(self, NULL);
}

static PyObject *core_explain(Core *self, PyObject *Py_UNUSED(ignored))
{
    if (!enter(self, 1)) return NULL;
    return leave(self, pack_explanation(&self->engine));
}

static int read_context(PyObject *object, Context *context)
{
    int32_t count, *tokens = read_tokens(object, "context", &count);
    if (!tokens) return 0;
    *context = (Context){{-1, -1, -1}};
    for (int i = 0; i < 3 && i < count; i++) context->token[2 - i] = tokens[count - 1 - i];
    free(tokens);
    return 1;
}

static PyObject *core_lookup(Core *self, PyObject *object)
{
    Context context;
    const Word *rows[SOURCES];
    if (!enter(self, 0)) return NULL;
    PyObject *result = read_context(object, &context) ? PyTuple_New(SOURCES) : NULL;
    if (!result) return leave(self, NULL);
    find_rows(self->engine.memories, self->engine.kept, &context, rows);
    for (int s = 0; s < SOURCES; s++) {
        PyObject *row = rows[s] ? pack_row(self->engine.memories + s, rows[s]) : Py_NewRef(Py_None);
        if (!row) {
            Py_DECREF(result);
            return leave(self, NULL);
        }
        PyTuple_SET_ITEM(result, s, row);
    }
    return leave(self, result);
}

/* Whether the U row of a context comes from the base. */
static PyObject *core_from_base(Core *self, PyObject *object)
{
    Context context;
    const Memory *u = self->engine.memories + SOURCE_U;
    if (!enter(self, 0)) return NULL;
    if (!read_context(object, &context)) return leave(self, NULL);
    const int32_t *key = context.token + SOURCE_U;
    int found = *key >= 0 && u->behind && !memory_find_own(u, key) && memory_find_own(u->behind, key);
    return leave(self, PyBool_FromLong(found));
}

/* (buffer, rows) of U's own rows, in the order in which their tokens first came. */
static PyObject *core_export(Core *self, PyObject *Py_UNUSED(ignored))
{
    const Memory *u = self->engine.memories + SOURCE_U;
    if (!enter(self, 0)) return NULL;
    PyObject *buffer = pack_rows(u);
    return leave(self, buffer ? Py_BuildValue("Nn", buffer, (Py_ssize_t)u->count) : NULL);
}

/* (buffer, candidates, weights of G, C, U), a negative weight where no row was found. */
static PyObject *core_fuse(Core *self, PyObject *object)
{
    Context context;
    Fused f;
    double w[SOURCES];
    if (!enter(self, 0)) return NULL;
    if (!read_context(object, &context)) return leave(self, NULL);
    fuse(self->engine.memories, self->engine.kept, &self->engine.fusion, &context, &f);
    for (int s = 0; s < SOURCES; s++) w[s] = f.rows[s] ? f.weights[s] : -1.0;
    PyObject *buffer = pack_fused(&f);
    return leave(self, buffer ? Py_BuildValue("Ni(ddd)", buffer, f.count, w[0], w[1], w[2]) : NULL);
}

static PyObject *core_stats(Core *self, PyObject *Py_UNUSED(ignored))
{
    if (!enter(self, 0)) return NULL;
    const Memory *m = self->engine.memories;
    return leave(self, Py_BuildValue("{sIsIsIsn}", "U", m[SOURCE_U].count, "C", m[SOURCE_C].count, "G",
                                     m[SOURCE_G].count, "bytes", (Py_ssize_t)engine_bytes(&self->engine)));
}

static PyObject *core_reset(Core *self, PyObject *Py_UNUSED(ignored))
{
    if (!enter(self, 0)) return NULL;
    self->ready = 0;
    engine_free(&self->engine);
    return leave_with(self, 0);
}

/* For the benchmark: switch the timers on or off. */
static PyObject *core_timing(Core *self, PyObject *on)
{
    int truth = PyObject_IsTrue(on);
    if (truth < 0 || !enter(self, 0)) return NULL;
    self->engine.timing = truth;
    memset(self->engine.times, 0, sizeof self->engine.times);
    return leave_with(self, 0);
}

/* For the benchmark: nanoseconds so far of suffix lookup, search, packing, refresh, index update. */
static PyObject *core_times(Core *self, PyObject *Py_UNUSED(ignored))
{
    const int64_t *t = self->engine.times;
    return Py_BuildValue("LLLLL", (long long)t[0], (long long)t[1], (long long)t[2], (long long)t[3], (long long)t[4]);
}

/* For the benchmark: look every token up in U and read its row: (nanoseconds, hits, checksum of ids and scores). */
static PyObject *core_time_lookups(Core *self, PyObject *object)
{
    const Memory *u = self->engine.memories + SOURCE_U;
    int32_t count, *tokens;
    int64_t hits = 0;
    uint32_t checksum = 0;
    if (!enter(self, 0)) return NULL;
    if (!(tokens = read_tokens(object, "token_ids", &count))) return leave(self, NULL);
    int64_t from = now_ns();
    for (int32_t i = 0; i < count; i++) {
        const Word *row = memory_find(u, tokens + i);
        if (!row) continue;
        hits++;
        for (int j = 0; j < 2 * u->top_k; j++) checksum += (uint32_t)row_ids(u, row)[j].id; /* scores by their bits */
    }
    int64_t spent = now_ns() - from;
    free(tokens);
    return leave(self, Py_BuildValue("LLk", (long long)spent, (long long)hits, (unsigned long)checksum));
}

static PyMethodDef methods[] = {
    {"begin", (PyCFunction)(void (*)(void))core_begin, METH_VARARGS, "begin(prompt_ids, banned)"},
    {"seed", (PyCFunction)(void (*)(void))core_seed, METH_VARARGS, "seed(token_ids, ids, logits)"},
    {"commit", (PyCFunction)(void (*)(void))core_commit, METH_O, "commit(token_ids)"},
    {"draft", (PyCFunction)(void (*)(void))core_draft, METH_VARARGS, "draft(max_nodes, suffix_tokens[, ids, logits, n])"},
    {"offer", (PyCFunction)(void (*)(void))core_offer, METH_VARARGS, "offer(path, match)"},
    {"observe", (PyCFunction)(void (*)(void))core_observe, METH_VARARGS, "observe(ids, logits)"},
    {"explain", (PyCFunction)(void (*)(void))core_explain, METH_NOARGS, "explain() -> buffer, nodes, rows"},
    {"lookup", (PyCFunction)(void (*)(void))core_lookup, METH_O, "lookup(context) -> buffer or None for G, C, U"},
    {"from_base", (PyCFunction)(void (*)(void))core_from_base, METH_O, "from_base(context) -> bool"},
    {"export", (PyCFunction)(void (*)(void))core_export, METH_NOARGS, "export() -> buffer, rows of U"},
    {"fuse", (PyCFunction)(void (*)(void))core_fuse, METH_O, "fuse(context) -> buffer, n, weights"},
    {"stats", (PyCFunction)(void (*)(void))core_stats, METH_NOARGS, "stats() -> rows and bytes"},
    {"reset", (PyCFunction)(void (*)(void))core_reset, METH_NOARGS, "reset()"},
    {"_timing", (PyCFunction)(void (*)(void))core_timing, METH_O, "_timing(on)"},
    {"_times", (PyCFunction)(void (*)(void))core_times, METH_NOARGS, "_times() -> nanoseconds by phase"},
    {"_time_lookups", (PyCFunction)(void (*)(void))core_time_lookups, METH_O, "_time_lookups(token_ids)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot core_slots[] = {
    {Py_tp_doc, "The drafting core. Use recap.Drafter, which checks shapes and the order of calls."},
    {Py_tp_new, core_new},
    {Py_tp_dealloc, core_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec core_spec = {"recap.drafter._core.Core", sizeof(Core), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                core_slots};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &core_spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static PyMethodDef functions[] = {
    {"make_base", (PyCFunction)(void (*)(void))make_base, METH_VARARGS, "make_base(token_ids, ids, probs, top_k) -> base, bytes"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_core", .m_methods = functions, .m_slots = module_slots};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&module); }
