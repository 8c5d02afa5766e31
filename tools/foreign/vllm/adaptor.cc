// vLLM's allocator for sleep mode: an extension module in C++, compiled into this library
// under other names, and a class in Python that it calls back, run by an interpreter of the
// library's own. prepare.py stands in for the rest of vLLM and for PyTorch.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <sys/types.h>

#ifndef FOLDER
#define FOLDER ""
#endif

extern "C" {
void *vllm_malloc(ssize_t bytes, int device, cudaStream_t stream);
void vllm_free(void *p, ssize_t bytes, int device, cudaStream_t stream);
PyObject *PyInit_cumem_allocator();
}

namespace {

PyObject *synchronize(PyObject *, PyObject *args) {
	int device;
	if (!PyArg_ParseTuple(args, "i", &device)) return nullptr;
	cudaSetDevice(device);
	if (cudaDeviceSynchronize() != cudaSuccess) return PyErr_Format(PyExc_RuntimeError, "cudaDeviceSynchronize");
	Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"synchronize", synchronize, METH_VARARGS, ""}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "gaugeblock_cuda", "", -1, methods, nullptr, nullptr, nullptr, nullptr};
PyObject *init() { return PyModule_Create(&module); }

bool begin() {
	PyImport_AppendInittab("gaugeblock_cuda", init);
	PyImport_AppendInittab("cumem_allocator", PyInit_cumem_allocator);
	Py_InitializeEx(0);
	const char *first = "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '" FOLDER "'); import prepare";
	if (PyRun_SimpleString(first) != 0) std::abort();
	PyEval_SaveThread();
	return true;
}

} // namespace

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	static bool begun = begin();
	(void)begun;
	cudaSetDevice(device);
	return vllm_malloc(bytes, device, stream);
}

extern "C" void my_free(void *p, ssize_t bytes, int device, cudaStream_t stream) { vllm_free(p, bytes, device, stream); }
