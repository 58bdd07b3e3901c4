/* recap.targets.cpu._passes: Model and Cache as Python types. compiled.py gives them numpy arrays. */
#include "cache_type.h"
#include "model_calls.h"
#include "model_weights.h"

static PyMethodDef model_methods[] = {
    {"set_layer", (PyCFunction)(void (*)(void))model_set_layer, METH_VARARGS,
     "set_layer(index, norm, q, k, v, out, norm, gate, up, down)"},
    {"set_ends", (PyCFunction)(void (*)(void))model_set_ends, METH_VARARGS,
     "set_ends(embedding, norm, cosines, sines)"},
    {"run", (PyCFunction)(void (*)(void))model_run, METH_VARARGS, "run([(cache, tokens, depths, mask, offset), ...], hidden)"},
    {"top", (PyCFunction)(void (*)(void))model_top, METH_VARARGS, "top(hidden, k, ids, values)"},
    {"logits", (PyCFunction)(void (*)(void))model_logits, METH_VARARGS, "logits(hidden, out)"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef model_fields[] = {
    {"instructions", (getter)model_instructions, NULL, "Name of the vector instructions in use.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc, "A language model's weights and kernels. Use recap.targets.cpu.Passes, which gives it numpy arrays."},
    {Py_tp_new, model_new}, {Py_tp_dealloc, model_dealloc}, {Py_tp_methods, model_methods},
    {Py_tp_getset, model_fields}, {0, NULL},
};

static PyType_Spec model_spec = {"recap.targets.cpu._passes.Model", sizeof(ModelObject), 0, Py_TPFLAGS_DEFAULT,
                                 model_slots};

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
