/* The bridge from Python to compiled kernels, and the little runtime that their code asks for.
 *
 * Every kernel is compiled once for each signature that Python calls it with. An entry takes its
 * arguments as a row of 64-bit slots and writes its result as one, so that this file needs to know
 * no kernel. A text says what is in the slots:
 *
 *   ? b B h H i I q Q f d   a number, by numpy's letters        n      None
 *   [q2Cw                   an array: type, dimensions, layout (C, F or A for any), w or r (only read)
 *   (...)                   a tuple of these
 *
 * An array has 5 slots (owner, object, items, bytes of an item, address), then its shape, then its
 * strides: numba's own layout. The table of entries is generated (see library_build.py).
 *
 * Only the stable part of Python's interface is used, so one library serves all versions. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "entries.h"

enum { SLOTS = 512, ARRAYS = 96 };

/* ------------------------------------------------------------------ memory of compiled code */

typedef void (*Destructor)(void *data, size_t size, void *info);

typedef struct {
    size_t references;
    Destructor destroy;
    void *info;
    void *data;
    size_t size;
    void *allocator;
} Owner; /* numba calls it MemInfo, and reads the first and the fourth field in compiled code */

#define RUNTIME __attribute__((visibility("hidden")))

RUNTIME void *NRT_Allocate(size_t size) { return malloc(size); }
RUNTIME void *NRT_Reallocate(void *data, size_t size) { return realloc(data, size); }
RUNTIME void NRT_Free(void *data) { free(data); }

static Owner *allocate_owner(size_t size, unsigned align, Destructor destroy) {
    if (size > SIZE_MAX - sizeof(Owner) - 2 * (size_t)align) return NULL;
    Owner *owner = malloc(sizeof(Owner) + size + 2 * (size_t)align);
    if (owner == NULL) return NULL;
    uintptr_t data = (uintptr_t)(owner + 1);
    if (align > 1) data = (data + align - 1) / align * align;
    *owner = (Owner){1, destroy, NULL, (void *)data, size, NULL};
    return owner;
}

RUNTIME Owner *NRT_MemInfo_alloc(size_t size) { return allocate_owner(size, 1, NULL); }
RUNTIME Owner *NRT_MemInfo_alloc_safe(size_t size) { return allocate_owner(size, 1, NULL); }
RUNTIME Owner *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    return allocate_owner(size, align, NULL);
}
RUNTIME Owner *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) {
    return allocate_owner(size, align, NULL);
}
RUNTIME Owner *NRT_MemInfo_alloc_dtor(size_t size, Destructor destroy) {
    return allocate_owner(size, 1, destroy);
}
RUNTIME Owner *NRT_MemInfo_alloc_dtor_safe(size_t size, Destructor destroy) {
    return allocate_owner(size, 1, destroy);
}

/* Lists keep their items apart, so that they can grow: `info` is a destructor of the items. */
static void free_items(void *data, size_t size, void *info) {
    if (info != NULL) ((Destructor)info)(data, size, NULL);
    free(data);
}

RUNTIME Owner *NRT_MemInfo_new_varsize_dtor(size_t size, Destructor destroy) {
    void *data = malloc(size);
    if (data == NULL) return NULL;
    Owner *owner = malloc(sizeof(Owner));
    if (owner == NULL) {
        free(data);
        return NULL;
    }
    *owner = (Owner){1, free_items, (void *)destroy, data, size, NULL};
    return owner;
}
RUNTIME Owner *NRT_MemInfo_new_varsize(size_t size) {
    return NRT_MemInfo_new_varsize_dtor(size, NULL);
}
RUNTIME void *NRT_MemInfo_varsize_alloc(Owner *owner, size_t size) {
    owner->data = malloc(size);
    if (owner->data != NULL) owner->size = size;
    return owner->data;
}
RUNTIME void *NRT_MemInfo_varsize_realloc(Owner *owner, size_t size) {
    void *data = realloc(owner->data, size);
    if (data == NULL) return NULL;
    owner->size = size;
    return owner->data = data;
}
RUNTIME void NRT_MemInfo_varsize_free(Owner *owner, void *data) {
    free(data);
    if (data == owner->data) owner->data = NULL;
}

RUNTIME void NRT_MemInfo_call_dtor(Owner *owner) { /* the last reference has gone */
    if (owner->destroy != NULL) owner->destroy(owner->data, owner->size, owner->info);
    free(owner);
}

/* The strides of a contiguous array in a new shape; 0 if that has another number of items. */
RUNTIME int numba_attempt_nocopy_reshape(npy_intp dimensions, const npy_intp *shape,
                                         const npy_intp *strides, npy_intp new_dimensions,
                                         const npy_intp *new_shape, npy_intp *new_strides,
                                         npy_intp item, int fortran) {
    npy_intp items = 1, new_items = 1;
    for (npy_intp d = 0; d < dimensions; d++) items *= shape[d];
    for (npy_intp d = 0; d < new_dimensions; d++) new_items *= new_shape[d];
    if (items != new_items) return 0;
    for (npy_intp i = 0; i < new_dimensions; i++) {
        npy_intp d = fortran ? i : new_dimensions - 1 - i;
        new_strides[d] = item;
        item *= new_shape[d];
    }
    return 1;
}

static void release_owner(Owner *owner) {
    if (__atomic_sub_fetch(&owner->references, 1, __ATOMIC_ACQ_REL) == 0)
        NRT_MemInfo_call_dtor(owner);
}

static const char OWNER[] = "lakejoin.kernels.owner";

static void release_capsule(PyObject *capsule) {
    release_owner(PyCapsule_GetPointer(capsule, OWNER));
}

/* ------------------------------------------------------------------ arguments into slots */

typedef struct {
    int64_t slots[SLOTS];
    int used;
    Owner owners[ARRAYS]; /* arrays of the caller: never freed here */
    PyObject *objects[ARRAYS];
    int arrays;
} Arguments;

static const Variant *variant; /* the code for this processor */

/* The letter of a numpy type: one for each kind and size, whatever the platform calls it. */
static char letter_of(int type) {
    switch (type) {
    case NPY_BOOL: return '?';
    case NPY_BYTE: return 'b';
    case NPY_UBYTE: return 'B';
    case NPY_SHORT: return 'h';
    case NPY_USHORT: return 'H';
    case NPY_INT: return 'i';
    case NPY_UINT: return 'I';
    case NPY_LONG: return sizeof(long) == 8 ? 'q' : 'i';
    case NPY_ULONG: return sizeof(long) == 8 ? 'Q' : 'I';
    case NPY_LONGLONG: return 'q';
    case NPY_ULONGLONG: return 'Q';
    case NPY_FLOAT: return 'f';
    case NPY_DOUBLE: return 'd';
    default: return 0;
    }
}

static int type_of(char letter) {
    switch (letter) {
    case '?': return NPY_BOOL;
    case 'b': return NPY_INT8;
    case 'B': return NPY_UINT8;
    case 'h': return NPY_INT16;
    case 'H': return NPY_UINT16;
    case 'i': return NPY_INT32;
    case 'I': return NPY_UINT32;
    case 'q': return NPY_INT64;
    case 'Q': return NPY_UINT64;
    case 'f': return NPY_FLOAT32;
    default: return NPY_FLOAT64;
    }
}

static int take_array(Arguments *into, const char *kind, PyObject *object) {
    if (!PyArray_Check(object)) return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    int dimensions = kind[1] - '0', flags = PyArray_FLAGS(array);
    if (PyArray_NDIM(array) != dimensions || letter_of(PyArray_TYPE(array)) != kind[0]) return 0;
    if (!(flags & NPY_ARRAY_ALIGNED) || !PyArray_ISNOTSWAPPED(array)) return 0;
    if (kind[2] == 'C' && !(flags & NPY_ARRAY_C_CONTIGUOUS)) return 0;
    if (kind[2] == 'F' && !(flags & NPY_ARRAY_F_CONTIGUOUS)) return 0;
    if (kind[3] == 'w' && !(flags & NPY_ARRAY_WRITEABLE)) return 0;
    Owner *owner = &into->owners[into->arrays];
    *owner = (Owner){(size_t)1 << 40, NULL, NULL, PyArray_DATA(array), 0, NULL};
    into->objects[into->arrays++] = object;
    int64_t *slot = into->slots + into->used;
    *slot++ = (int64_t)(uintptr_t)owner;
    *slot++ = (int64_t)(uintptr_t)object;
    *slot++ = PyArray_SIZE(array);
    *slot++ = PyArray_ITEMSIZE(array);
    *slot++ = (int64_t)(uintptr_t)PyArray_DATA(array);
    for (int d = 0; d < dimensions; d++) *slot++ = PyArray_DIM(array, d);
    for (int d = 0; d < dimensions; d++) *slot++ = PyArray_STRIDE(array, d);
    into->used += 5 + 2 * dimensions;
    return 1;
}

/* A number is taken as what it is, with nothing lost and nothing gained: True is no 1. */
static int take_number(Arguments *into, char letter, PyObject *object) {
    int64_t *slot = into->slots + into->used;
    *slot = 0;
    if (PyBool_Check(object)) {
        if (letter != '?') return 0;
        *slot = object == Py_True;
    } else if (PyLong_Check(object)) {
        if (letter != 'q' && letter != 'Q') return 0;
        int large;
        *slot = PyLong_AsLongLongAndOverflow(object, &large);
        if ((letter == 'Q') != (large > 0) || large < 0) return 0;
        if (letter == 'Q') {
            *(uint64_t *)slot = PyLong_AsUnsignedLongLong(object);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
        }
    } else if (PyFloat_Check(object)) {
        if (letter != 'd') return 0;
        *(double *)slot = PyFloat_AsDouble(object);
    } else if (PyArray_IsScalar(object, Generic)) {
        PyArray_Descr *type = PyArray_DescrFromScalar(object);
        if (type == NULL) {
            PyErr_Clear();
            return 0;
        }
        int same = letter_of(type->type_num) == letter;
        Py_DECREF(type);
        if (!same) return 0;
        PyArray_ScalarAsCtype(object, slot);
    } else {
        return 0;
    }
    into->used++;
    return 1;
}

/* Whether an object is what `*kind` says, which then stands after that. */
static int take_argument(Arguments *into, const char **kind, PyObject *object) {
    char letter = *(*kind)++;
    if (letter == '[') {
        const char *array = *kind;
        *kind += 4;
        return take_array(into, array, object);
    }
    if (letter == 'n') return object == Py_None;
    if (letter != '(') return take_number(into, letter, object);
    if (!PyTuple_Check(object)) return 0;
    Py_ssize_t size = PyTuple_Size(object), i = 0;
    for (; **kind != ')'; i++)
        if (i >= size || !take_argument(into, kind, PyTuple_GetItem(object, i))) return 0;
    ++*kind;
    return i == size;
}

static int take_arguments(Arguments *into, const char *kinds, PyObject *arguments) {
    Py_ssize_t size = PyTuple_Size(arguments), i = 0;
    into->used = into->arrays = 0;
    for (; *kinds; i++)
        if (i >= size || !take_argument(into, &kinds, PyTuple_GetItem(arguments, i))) return 0;
    return i == size;
}

/* ------------------------------------------------------------------ slots into a result */

static PyObject *give_array(const Arguments *from, const char *kind, const int64_t **slots) {
    const int64_t *slot = *slots;
    Owner *owner = (Owner *)(uintptr_t)slot[0];
    PyObject *same = (PyObject *)(uintptr_t)slot[1];
    void *data = (void *)(uintptr_t)slot[4];
    int dimensions = kind[1] - '0';
    npy_intp shape[8], strides[8];
    for (int d = 0; d < dimensions; d++) shape[d] = slot[5 + d], strides[d] = slot[5 + dimensions + d];
    *slots += 5 + 2 * dimensions;
    PyObject *keeper = NULL; /* an argument that the result is a part of */
    if (owner >= from->owners && owner < from->owners + from->arrays)
        keeper = from->objects[owner - from->owners];
    if (keeper != NULL && keeper == same) {
        PyArrayObject *whole = (PyArrayObject *)keeper;
        if (PyArray_NDIM(whole) == dimensions && PyArray_DATA(whole) == data &&
            !memcmp(PyArray_DIMS(whole), shape, dimensions * sizeof(npy_intp)) &&
            !memcmp(PyArray_STRIDES(whole), strides, dimensions * sizeof(npy_intp)))
            return Py_NewRef(keeper);
    }
    int flags = kind[3] == 'w' ? NPY_ARRAY_WRITEABLE : 0;
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type_of(kind[0])),
                                           dimensions, shape, strides, data, flags, NULL);
    PyObject *base = NULL;
    if (keeper != NULL)
        base = Py_NewRef(keeper);
    else if (owner != NULL && (base = PyCapsule_New(owner, OWNER, release_capsule)) == NULL)
        release_owner(owner);
    if (array == NULL || (owner != NULL && base == NULL)) {
        Py_XDECREF(array);
        Py_XDECREF(base);
        return NULL;
    }
    if (base != NULL && PyArray_SetBaseObject((PyArrayObject *)array, base) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

static PyObject *give_result(const Arguments *from, const char **kind, const int64_t **slots) {
    char letter = *(*kind)++;
    if (letter == '[') {
        const char *array = *kind;
        *kind += 4;
        return give_array(from, array, slots);
    }
    if (letter == '(') {
        PyObject *items = PyList_New(0);
        int failed = items == NULL;
        for (; **kind != ')' && !failed;) {
            PyObject *item = give_result(from, kind, slots);
            failed = item == NULL || PyList_Append(items, item) < 0;
            Py_XDECREF(item);
        }
        ++*kind;
        PyObject *tuple = failed ? NULL : PyList_AsTuple(items);
        Py_XDECREF(items);
        return tuple;
    }
    const int64_t *slot = (*slots)++;
    switch (letter) {
    case 'n': return Py_NewRef(Py_None);
    case '?': return PyBool_FromLong(*(const int8_t *)slot & 1);
    case 'b': return PyLong_FromLong(*(const int8_t *)slot);
    case 'B': return PyLong_FromLong(*(const uint8_t *)slot);
    case 'h': return PyLong_FromLong(*(const int16_t *)slot);
    case 'H': return PyLong_FromLong(*(const uint16_t *)slot);
    case 'i': return PyLong_FromLong(*(const int32_t *)slot);
    case 'I': return PyLong_FromUnsignedLong(*(const uint32_t *)slot);
    case 'q': return PyLong_FromLongLong(*slot);
    case 'Q': return PyLong_FromUnsignedLongLong(*(const uint64_t *)slot);
    case 'f': return PyFloat_FromDouble(*(const float *)slot);
    default: return PyFloat_FromDouble(*(const double *)slot);
    }
}

/* ------------------------------------------------------------------ what a kernel raises */

typedef struct {
    const char *pickled;
    int32_t size;
    void *arguments;
    void *unwrap;
    int32_t dynamic;
} Raised; /* numba's record of an exception: (class, arguments, place), pickled */

static PyObject *raise_error(const char *name, int status, const Raised *raised) {
    if (status < 1 || raised == NULL || raised->dynamic > 0) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "%s failed (%d)", name, status);
        return NULL;
    }
    PyObject *pickle = PyImport_ImportModule("pickle"), *record = NULL;
    if (pickle != NULL)
        record = PyObject_CallMethod(pickle, "loads", "y#", raised->pickled,
                                     (Py_ssize_t)raised->size);
    PyObject *kind = NULL, *arguments = NULL;
    if (record != NULL && PyTuple_Check(record) && PyTuple_Size(record) >= 2) {
        kind = PyTuple_GetItem(record, 0);
        arguments = PyTuple_GetItem(record, 1);
        if (arguments != Py_None)
            PyErr_SetObject(kind, arguments);
        else
            PyErr_SetObject(kind, NULL);
    }
    if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "%s failed (%d)", name, status);
    Py_XDECREF(record);
    Py_XDECREF(pickle);
    return NULL;
}

/* ------------------------------------------------------------------ the callable */

typedef struct {
    PyObject_HEAD
    const Entry *first; /* the entries of this kernel stand together */
    const Entry *end;
} Kernel;

static PyObject *call_kernel(PyObject *object, PyObject *arguments, PyObject *names) {
    Kernel *kernel = (Kernel *)object;
    Arguments taken;
    if (names == NULL || PyDict_Size(names) == 0) {
        for (const Entry *entry = kernel->first; entry < kernel->end; entry++) {
            if (!take_arguments(&taken, entry->arguments, arguments)) continue;
            int64_t result[SLOTS / 4];
            void *raised = NULL;
            PyThreadState *thread = PyEval_SaveThread();
            int status = entry->call(taken.slots, result, &raised);
            PyEval_RestoreThread(thread);
            if (status != 0 && status != -2) return raise_error(entry->name, status, raised);
            const char *kind = entry->result;
            const int64_t *slots = result;
            return give_result(&taken, &kind, &slots);
        }
    }
    PyObject *other = PyObject_GetAttrString(object, "call_otherwise");
    if (other == NULL) return NULL;
    PyObject *result = PyObject_Call(other, arguments, names);
    Py_DECREF(other);
    return result;
}

static int init_kernel(PyObject *object, PyObject *arguments, PyObject *names) {
    Kernel *kernel = (Kernel *)object;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "s", &name)) return -1;
    const Entry *entry = variant->entries, *end = entry + variant->size;
    while (entry < end && strcmp(entry->name, name)) entry++;
    kernel->first = entry;
    while (entry < end && !strcmp(entry->name, name)) entry++;
    kernel->end = entry;
    if (kernel->first == kernel->end) {
        PyErr_SetString(PyExc_KeyError, name);
        return -1;
    }
    return 0;
}

static PyObject *signatures_of(PyObject *object, PyObject *unused) {
    Kernel *kernel = (Kernel *)object;
    PyObject *list = PyList_New(0);
    for (const Entry *entry = kernel->first; list != NULL && entry < kernel->end; entry++) {
        PyObject *pair = Py_BuildValue("ss", entry->arguments, entry->result);
        if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyMethodDef kernel_methods[] = {
    {"signatures", signatures_of, METH_NOARGS, "What it was compiled for: (arguments, result)."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_call, call_kernel},
    {Py_tp_init, init_kernel},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_methods, kernel_methods},
    {Py_tp_doc, "A compiled kernel, by its name."},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "lakejoin.kernels.library.Entry",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = kernel_slots,
};

/* ------------------------------------------------------------------ files that are cut */

/* Reading a mapped page that its file no longer has would end the process (SIGBUS). Such a page is
 * replaced by zeros instead: a reader then finds that the file has changed, and refuses to answer. */
#ifndef _WIN32
static uintptr_t page_size;
static struct sigaction earlier;

static void replace_page(int number, siginfo_t *info, void *context) {
    (void)context;
    void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (info->si_code == BUS_ADRERR &&
        mmap(page, page_size, PROT_READ, flags, -1, 0) == page)
        return;
    sigaction(number, &earlier, NULL); /* the fault comes again, and is handled as before */
}

static void survive_cut_files(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = replace_page;
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    if (earlier.sa_sigaction == NULL) sigaction(SIGBUS, &action, &earlier);
}
#else
static void survive_cut_files(void) {}
#endif

/* ------------------------------------------------------------------ the module */

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "library", "Kernels as machine code.", -1, NULL, NULL, NULL, NULL, NULL,
};

static int name_all(PyObject *module) { /* names: all kernels that there are */
    PyObject *names = PySet_New(NULL);
    for (int i = 0; names != NULL && i < variant->size; i++) {
        PyObject *name = PyUnicode_FromString(variant->entries[i].name);
        if (name == NULL || PySet_Add(names, name) < 0) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names == NULL ? -1 : PyModule_AddObjectRef(module, "names", names);
}

PyMODINIT_FUNC PyInit_library(void) {
    const char *wanted = getenv("LAKEJOIN_PROCESSOR");
    for (int i = 0; i < variants_size && variant == NULL; i++) /* the best comes first */
        if (variants[i].fits() && (wanted == NULL || !strcmp(wanted, variants[i].name)))
            variant = &variants[i];
    if (variant == NULL) {
        PyErr_SetString(PyExc_ImportError, "the compiled kernels need a newer processor");
        return NULL;
    }
    survive_cut_files();
    import_array();
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = PyType_FromSpec(&kernel_spec);
    if (module == NULL || type == NULL || PyModule_AddObjectRef(module, "Entry", type) < 0 ||
        PyModule_AddStringConstant(module, "processor", variant->name) < 0 ||
        PyModule_AddStringConstant(module, "sources", sources) < 0 || name_all(module) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}
