/* Calls from Python without ctypes. In: a call's objects, which DLPack's exchange table of their array library
 * describes (dlpack.h 1.3). Out: a launch, and the objects of its outputs; or Python's NotImplemented, after which the
 * package takes the longer path, which also reports errors. Nothing of Python is linked or included: its functions are
 * found in the calling interpreter, and belong to the stable ABI. The GIL is held wherever an object is used. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "lib/runtime.h"

typedef struct python_object python_object; /* PyObject */

/* ---- what Python.h and dlpack.h would declare ---- */

enum { METHOD_FAST = 0x80, METHOD_KEYWORDS = 0x02, DLPACK_MAJOR = 1, DEVICE_CUDA = 2 };

struct python_method { /* PyMethodDef */
    const char *name;
    python_object *(*call)(python_object *self, python_object *const *args, ptrdiff_t n, python_object *names);
    int flags;
    const char *help;
};

#define PYTHON_FUNCTIONS(F)                                                                        \
    F(python_object *, PyCapsule_New, (void *, const char *, void (*)(python_object *)))           \
    F(void *, PyCapsule_GetPointer, (python_object *, const char *))                               \
    F(python_object *, PyCFunction_NewEx, (struct python_method *, python_object *, python_object *)) \
    F(python_object *, PyCFunction_GetSelf, (python_object *))                                     \
    F(python_object *, PyObject_Type, (python_object *))                                           \
    F(python_object *, PyObject_GetAttr, (python_object *, python_object *))                       \
    F(python_object *, PyObject_CallFunctionObjArgs, (python_object *, ...))                       \
    F(python_object *, PyObject_CallObject, (python_object *, python_object *))                    \
    F(python_object *, PyObject_Vectorcall, (python_object *, python_object *const *, size_t, python_object *)) \
    F(python_object *, PyUnicode_InternFromString, (const char *))                                 \
    F(int, PyUnicode_CompareWithASCIIString, (python_object *, const char *))                      \
    F(double, PyFloat_AsDouble, (python_object *))                                                 \
    F(long long, PyLong_AsLongLong, (python_object *))                                             \
    F(ptrdiff_t, PyTuple_Size, (python_object *))                                                  \
    F(python_object *, PyTuple_GetItem, (python_object *, ptrdiff_t))                              \
    F(python_object *, PyTuple_New, (ptrdiff_t))                                                   \
    F(int, PyTuple_SetItem, (python_object *, ptrdiff_t, python_object *))                         \
    F(python_object *, PyErr_Occurred, (void))                                                     \
    F(void, PyErr_Clear, (void))                                                                   \
    F(void *, PyEval_SaveThread, (void))                                                           \
    F(void, PyEval_RestoreThread, (void *))                                                        \
    F(void, Py_IncRef, (python_object *))                                                          \
    F(void, Py_DecRef, (python_object *))

struct exchange_table { /* DLPackExchangeAPI; what is not called stands as void * */
    uint32_t major, minor;
    const struct exchange_table *previous; /* of an older version */
    void *allocate, *take, *give;
    int (*describe)(void *object, DLTensor *out); /* borrows: valid as long as the object is; may be NULL */
    int (*current_stream)(int32_t device_type, int32_t device, void **out);
};

/* ---- the interpreter and the arrays: set once ---- */

static struct {
#define F(result, name, parameters) result(*name) parameters;
    PYTHON_FUNCTIONS(F)
#undef F
    python_object *none, *not_implemented, *yes;
    python_object *requires_grad; /* the name */
    const struct exchange_table *exchange;
    struct fx_python_arrays arrays;
    bool is_open;
} py;

static bool find_all(void *interpreter) {
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
#define F(result, function, parameters) {#function, &py.function},
        PYTHON_FUNCTIONS(F)
#undef F
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(interpreter, wanted[i].name);
        if (!found) return false;
        memcpy(wanted[i].place, &found, sizeof found);
    }
    py.none = dlsym(interpreter, "_Py_NoneStruct");
    py.not_implemented = dlsym(interpreter, "_Py_NotImplementedStruct");
    py.yes = dlsym(interpreter, "_Py_TrueStruct");
    return py.none && py.not_implemented && py.yes;
}

fx_status fx_python_open(void *interpreter, const struct fx_python_arrays *arrays) {
    if (!interpreter || !arrays) return error_null(interpreter ? "what the arrays are" : "the interpreter");
    if (arrays->size < sizeof *arrays || !arrays->exchange || !arrays->types[0] || !arrays->empty_like ||
        !arrays->is_recording)
        return error_set(FX_ERR_USAGE, "what the arrays are is not said whole");
    const struct exchange_table *exchange = arrays->exchange;
    while (exchange && exchange->major != DLPACK_MAJOR) exchange = exchange->previous;
    if (!exchange || !exchange->describe || !exchange->current_stream)
        return error_set(FX_ERR_USAGE, "DLPack's exchange table is not of version 1, or describes nothing");
    if (!find_all(interpreter))
        return error_set(FX_ERR_TOOLCHAIN, "the interpreter lacks functions of Python's stable ABI");
    py.exchange = exchange;
    py.arrays = *arrays;
    if (!py.requires_grad) py.requires_grad = py.PyUnicode_InternFromString("requires_grad");
    if (!py.requires_grad) return py.PyErr_Clear(), error_nomem();
    py.Py_IncRef(arrays->empty_like);
    if (arrays->empty) py.Py_IncRef(arrays->empty);
    py.Py_IncRef(arrays->is_recording);
    py.is_open = true;
    return FX_OK;
}

/* ---- a callable ---- */

enum { MAX_FAST = 32, MAX_ENTRIES = 1024 };
static const char capsule_name[] = "fx.call";

struct python_entry { /* what is prepared for one set of shapes; it lives as long as the callable */
    struct python_entry *next;
    const fx_prepared *prepared;
    bool is_given_out; /* strides of the outputs count: they are the caller's */
    size_t workspace_bytes;
    /* For each output, last for the workspace, an array as it is to be, and arguments of arrays.empty; NULL: none. */
    python_object *like[MAX_FAST + 1], *made_of[MAX_FAST + 1];
    DLTensor tensors[]; /* of each parameter, with shapes and strides behind the last */
};

struct python_call { /* a kernel */
    python_object *otherwise; /* called where the kernel is not launched, or NULL */
    int n_params, n_inputs;
    bool is_scalar[MAX_FAST], is_float[MAX_FAST];
    int n_entries;
    struct python_entry *entries; /* that used last comes first */
};

static void free_entry(struct python_entry *e) {
    for (int i = 0; i <= MAX_FAST; i++) {
        if (e->like[i]) py.Py_DecRef(e->like[i]);
        if (e->made_of[i]) py.Py_DecRef(e->made_of[i]);
    }
    free(e);
}

static void free_call(python_object *capsule) {
    struct python_call *c = py.PyCapsule_GetPointer(capsule, capsule_name);
    for (struct python_entry *e = c->entries, *next; e; e = next) next = e->next, free_entry(e);
    if (c->otherwise) py.Py_DecRef(c->otherwise);
    free(c);
}

/* ---- a call ---- */

struct attempt { /* a call under way */
    const struct python_call *call;
    python_object *objects[MAX_FAST]; /* of tensors: borrowed of inputs and given outputs */
    python_object *made[MAX_FAST + 1]; /* ours: outputs, then the workspace */
    int n_made;
    DLTensor views[MAX_FAST];
    struct fx_value values[MAX_FAST];
};

/* Whether the object is an array whose gradient nobody would miss; describes it. */
static bool view(struct attempt *a, int i, python_object *object, bool *needs_grad) {
    python_object *type = py.PyObject_Type(object), *requires_grad = NULL;
    bool is_known = false;
    for (size_t t = 0; t < sizeof py.arrays.types / sizeof *py.arrays.types; t++)
        is_known |= type == py.arrays.types[t] && type;
    if (type) py.Py_DecRef(type);
    if (!is_known || !(requires_grad = py.PyObject_GetAttr(object, py.requires_grad))) return false;
    *needs_grad |= requires_grad == py.yes;
    py.Py_DecRef(requires_grad);
    a->objects[i] = object;
    a->values[i].tensor = &a->views[i];
    return py.exchange->describe(object, &a->views[i]) == 0;
}

static bool is_recording(void) {
    python_object *answer = py.PyObject_CallFunctionObjArgs(py.arrays.is_recording, NULL);
    if (answer) py.Py_DecRef(answer);
    return !answer || answer == py.yes;
}

/* Scalars first: what makes numbers of objects may be Python, after which no view would be sure. */
static bool take_inputs(struct attempt *a, python_object *const *args, bool *needs_grad) {
    const struct python_call *c = a->call;
    for (int i = 0; i < c->n_inputs; i++) {
        if (!c->is_scalar[i]) continue;
        a->values[i].tensor = NULL;
        if (c->is_float[i]) a->values[i].number = py.PyFloat_AsDouble(args[i]);
        else a->values[i].integer = py.PyLong_AsLongLong(args[i]);
        if (py.PyErr_Occurred()) return false;
    }
    for (int i = 0; i < c->n_inputs; i++)
        if (!c->is_scalar[i] && !view(a, i, args[i], needs_grad)) return false;
    return true;
}

static bool take_outputs(struct attempt *a, python_object *out, bool *needs_grad) {
    const int first = a->call->n_inputs, n = a->call->n_params - first;
    ptrdiff_t size = py.PyTuple_Size(out); /* below 0, and an error: no tuple */
    if (size < 0) py.PyErr_Clear();
    if (size < 0 ? n != 1 : size != n) return false;
    for (int i = 0; i < n; i++)
        if (!view(a, first + i, size < 0 ? out : py.PyTuple_GetItem(out, i), needs_grad)) return false;
    return true;
}

static bool is_row_major(const DLTensor *t) {
    int64_t expected = 1;
    for (int i = t->ndim - 1; t->strides && i >= 0; i--) {
        if (t->shape[i] != 1 && t->strides[i] != expected) return false;
        expected *= t->shape[i];
    }
    return true;
}

static bool fits(const DLTensor *is, const DLTensor *wanted, bool by_strides) {
    const size_t n_bytes = (size_t)wanted->ndim * sizeof(int64_t);
    return is->ndim == wanted->ndim && memcmp(&is->dtype, &wanted->dtype, sizeof is->dtype) == 0 &&
           is->device.device_type == wanted->device.device_type && is->device.device_id == wanted->device.device_id &&
           memcmp(is->shape, wanted->shape, n_bytes) == 0 &&
           (by_strides && wanted->strides ? is->strides && memcmp(is->strides, wanted->strides, n_bytes) == 0
                                          : is_row_major(is));
}

static bool all_fit(const struct attempt *a, const struct python_entry *e, int first, int end) {
    for (int i = first; i < end; i++)
        if (!a->call->is_scalar[i] && !fits(&a->views[i], &e->tensors[i], i < a->call->n_inputs || e->is_given_out))
            return false;
    return true;
}

/* Moved to the front; NULL: none. */
static struct python_entry *find_entry(struct python_call *c, const struct attempt *a, bool has_out) {
    const int end = has_out ? c->n_params : c->n_inputs;
    for (struct python_entry **at = &c->entries, *e; (e = *at); at = &e->next) {
        if (e->is_given_out != has_out || !all_fit(a, e, 0, end)) continue;
        *at = e->next, e->next = c->entries, c->entries = e;
        return e;
    }
    return NULL;
}

/* The shorter way to memory leads to the current device alone. */
static bool is_current(const struct python_entry *e) {
    void *context = NULL;
    return py.arrays.empty && cuda_driver.cuCtxGetCurrent(&context) == 0 && context == e->prepared->ctx->cuda;
}

/* A new array, of a type that is known, and with no gradient yet; NULL: there is none. */
static python_object *make(struct attempt *a, const struct python_entry *e, int i, bool is_here, DLTensor *view) {
    python_object *made = is_here && e->made_of[i]
                              ? py.PyObject_CallObject(py.arrays.empty, e->made_of[i])
                              : py.PyObject_CallFunctionObjArgs(py.arrays.empty_like, e->like[i], NULL);
    if (made) a->made[a->n_made++] = made;
    return made && py.exchange->describe(made, view) == 0 ? made : NULL;
}

static python_object *results(const struct attempt *a, python_object *out) {
    const int first = a->call->n_inputs, n = a->call->n_params - first;
    python_object *result = n == 0 ? py.none : n == 1 ? a->objects[first] : out ? out : py.PyTuple_New(n);
    if (n > 1 && !out) {
        for (int i = 0; result && i < n; i++)
            py.Py_IncRef(a->objects[first + i]), py.PyTuple_SetItem(result, i, a->objects[first + i]);
        return result;
    }
    py.Py_IncRef(result);
    return result;
}

/* Launches what is described; false: not done, for whatever reason. */
static bool run(struct attempt *a, const struct python_entry *e, bool has_out) {
    const struct python_call *c = a->call;
    void *stream = NULL, *workspace = NULL;
    DLTensor scratch;
    const bool makes = !has_out || e->workspace_bytes, is_here = makes && is_current(e);
    for (int i = c->n_inputs; !has_out && i < c->n_params; i++) {
        if (!(a->objects[i] = make(a, e, i, is_here, &a->views[i]))) return false;
        a->values[i].tensor = &a->views[i];
    }
    if (!has_out && !all_fit(a, e, c->n_inputs, c->n_params)) return false;
    if (e->workspace_bytes) {
        if (!make(a, e, MAX_FAST, is_here, &scratch)) return false;
        workspace = (char *)scratch.data + scratch.byte_offset;
    }
    if (py.exchange->current_stream(DEVICE_CUDA, e->prepared->ctx->device, &stream) != 0) return false;
    /* Others may run meanwhile: a driver whose queue is full waits for the GPU. */
    void *state = py.PyEval_SaveThread();
    fx_status status = fx_launch(e->prepared, a->values, c->n_params, workspace, e->workspace_bytes, stream);
    py.PyEval_RestoreThread(state);
    return status == FX_OK;
}

/* NULL: nothing was launched. */
static python_object *attempt(
    struct python_call *c, python_object *const *args, ptrdiff_t n, python_object *names) {
    struct attempt a;
    python_object *result = NULL, *out = NULL;
    bool needs_grad = false, is_plain = c && c->entries && n == c->n_inputs;
    a.call = c, a.n_made = 0;
    if (is_plain && names && py.PyTuple_Size(names) > 0) {
        is_plain = py.PyTuple_Size(names) == 1 &&
                   py.PyUnicode_CompareWithASCIIString(py.PyTuple_GetItem(names, 0), "out") == 0;
        out = is_plain && args[n] != py.none ? args[n] : NULL;
    }
    if (is_plain && take_inputs(&a, args, &needs_grad) && (!out || take_outputs(&a, out, &needs_grad)) &&
        (!needs_grad || !is_recording())) {
        struct python_entry *e = find_entry(c, &a, out != NULL);
        if (e && run(&a, e, out != NULL)) result = results(&a, out);
    }
    while (a.n_made > 0) py.Py_DecRef(a.made[--a.n_made]);
    if (py.PyErr_Occurred()) py.PyErr_Clear();
    return result;
}

static python_object *call(python_object *self, python_object *const *args, ptrdiff_t n, python_object *names) {
    struct python_call *c = py.PyCapsule_GetPointer(self, capsule_name);
    python_object *result = attempt(c, args, n, names);
    if (result) return result;
    if (c && c->otherwise) return py.PyObject_Vectorcall(c->otherwise, args, (size_t)n, names);
    py.Py_IncRef(py.not_implemented);
    return py.not_implemented;
}

static struct python_method method = {"launch", call, METHOD_FAST | METHOD_KEYWORDS,
    "Launches the kernel where its arguments are arrays that it was bound for; else calls what was given for that, or gives NotImplemented."};

void *fx_python_call(const struct fx_kernel *kernel, void *otherwise) {
    if (!kernel || !py.is_open || kernel->n_params > MAX_FAST) {
        (void)(kernel ? error_set(FX_ERR_USAGE, "fx_python_open was not called, or the kernel has too many parameters")
                      : error_null("the kernel"));
        return NULL;
    }
    struct python_call *c = calloc(1, sizeof *c);
    if (!c) return (void)error_nomem(), NULL;
    c->n_params = kernel->n_params;
    for (int i = 0; i < kernel->n_params; i++) {
        c->n_inputs += kernel->params[i].is_input;
        c->is_scalar[i] = kernel->params[i].is_scalar;
        c->is_float[i] = fx_dtype_class_of(kernel->params[i].dtype) == FX_CLASS_F;
    }
    python_object *capsule = py.PyCapsule_New(c, capsule_name, free_call);
    python_object *callable = capsule ? py.PyCFunction_NewEx(&method, capsule, NULL) : NULL;
    if (!capsule) free(c);
    else {
        if (otherwise) py.Py_IncRef(otherwise);
        c->otherwise = otherwise;
        py.Py_DecRef(capsule);
    }
    if (!callable) py.PyErr_Clear(), (void)error_nomem();
    return callable;
}

static fx_status new_entry(
    const struct python_call *c, const fx_prepared *p, const struct fx_value *args, struct python_entry **out) {
    const size_t n = (size_t)c->n_params, bytes = n * sizeof(DLTensor);
    struct python_entry *e = calloc(1, sizeof *e + bytes + 2 * n * FX_MAX_RANK * sizeof(int64_t));
    if (!e) return error_nomem();
    int64_t *shapes = (int64_t *)((char *)e->tensors + bytes), *strides = shapes + n * FX_MAX_RANK;
    for (size_t i = 0; i < n; i++, shapes += FX_MAX_RANK, strides += FX_MAX_RANK) {
        const DLTensor *t = args[i].tensor;
        if (c->is_scalar[i]) continue;
        if (!t || t->ndim < 0 || t->ndim > FX_MAX_RANK) {
            free(e);
            return error_set(FX_ERR_USAGE, "%s is no tensor", p->kernel->params[i].name);
        }
        e->tensors[i] = *t;
        e->tensors[i].shape = memcpy(shapes, t->shape, (size_t)t->ndim * sizeof *shapes);
        if (t->strides) e->tensors[i].strides = memcpy(strides, t->strides, (size_t)t->ndim * sizeof *strides);
    }
    e->prepared = p;
    *out = e;
    return FX_OK;
}

fx_status fx_python_add(void *callable, const fx_prepared *p, const struct fx_value *args, bool is_given_out,
    void *const *like, void *const *made_of, size_t workspace_bytes) {
    if (!callable || !p || !args || !like)
        return error_null(!callable ? "the callable"
                          : !p      ? "what was prepared"
                          : !args   ? "the arguments"
                                    : "what outputs are like");
    struct python_call *c = py.is_open ? py.PyCapsule_GetPointer(py.PyCFunction_GetSelf(callable), capsule_name) : NULL;
    if (py.is_open && !c) py.PyErr_Clear();
    if (!c || c->n_params != p->kernel->n_params) return error_set(FX_ERR_USAGE, "the callable is not of this kernel");
    if (c->n_entries == MAX_ENTRIES) return FX_OK; /* the rest takes the long way */
    struct python_entry *e = NULL;
    fx_status status = new_entry(c, p, args, &e);
    if (status != FX_OK) return status;
    e->is_given_out = is_given_out, e->workspace_bytes = workspace_bytes;
    for (int i = c->n_inputs; i <= c->n_params; i++) {
        const int to = i < c->n_params ? i : MAX_FAST;
        if ((e->like[to] = like[i - c->n_inputs])) py.Py_IncRef(e->like[to]);
        if (made_of && (e->made_of[to] = made_of[i - c->n_inputs])) py.Py_IncRef(e->made_of[to]);
    }
    c->n_entries++;
    e->next = c->entries, c->entries = e;
    return FX_OK;
}
