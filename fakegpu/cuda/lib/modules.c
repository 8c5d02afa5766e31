// Modules, libraries and kernels in the driver's interface. Of a module is read which parameters its
// kernels have, and every name is found in it.
#include "core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID_IMAGE = 200, FILE_NOT_FOUND = 301 };

typedef int Result;
typedef uint64_t Ptr;

// A module, which has an image, or a kernel, which has a name and parameters.
typedef struct Thing {
	struct Thing *next; // in its list of those that are alive
	char name[256];
	void *image;
	int count;
	unsigned short sizes[MAX_PARAMETERS];
} Thing;

// Those that are alive, by address: a handle may be one that was unloaded, or none at all.
enum { LISTS = 1024 };
static Thing *alive[LISTS];
static pthread_mutex_t alive_mutex = PTHREAD_MUTEX_INITIALIZER;

static Thing **list_of(const void *handle) { return &alive[((uintptr_t)handle >> 4) % LISTS]; }

// find is the module or kernel of a handle, NULL if there is none.
static Thing *find(const void *handle) {
	pthread_mutex_lock(&alive_mutex);
	Thing *t = *list_of(handle);
	while (t != NULL && t != handle) {
		t = t->next;
	}
	pthread_mutex_unlock(&alive_mutex);
	return t;
}

static Result make(void **made, const char *name) {
	if (made == NULL || name == NULL) {
		return INVALID_VALUE;
	}
	Thing *t = calloc(1, sizeof *t);
	if (t == NULL) {
		return OUT_OF_MEMORY;
	}
	snprintf(t->name, sizeof t->name, "%s", name);
	pthread_mutex_lock(&alive_mutex);
	t->next = *list_of(t);
	*list_of(t) = t;
	pthread_mutex_unlock(&alive_mutex);
	*made = t;
	return 0;
}

// unmake forgets a module.
static Result unmake(void *handle) {
	pthread_mutex_lock(&alive_mutex);
	Thing **at = list_of(handle);
	while (*at != NULL && *at != handle) {
		at = &(*at)->next;
	}
	Thing *t = *at;
	if (t != NULL) {
		*at = t->next;
	}
	pthread_mutex_unlock(&alive_mutex);
	if (t == NULL) {
		return INVALID_HANDLE;
	}
	free(t->image);
	free(t);
	return 0;
}

#define API GAUGEBLOCK_API Result

API cuModuleLoad(void **module, const char *path) {
	if (module == NULL || path == NULL) {
		return INVALID_VALUE;
	}
	return access(path, R_OK) != 0 ? FILE_NOT_FOUND : make(module, "module");
}

// An image is code for a device (ELF), several in one (a fat binary, or what leads to it), text in PTX,
// of which only that it is text is looked at, or what cuLinkComplete has made.
static int is_image(const char *image) {
	static const char *const begins[] = {"\x7f" "ELF", "\x50\xed\x55\xba", "\xb1\x43\x62\x46", "//", ".ver", "\n"};
	for (unsigned i = 0; i < sizeof begins / sizeof *begins; i++) {
		if (strncmp(image, begins[i], strlen(begins[i])) == 0) {
			return 1;
		}
	}
	return strcmp(image, "linked") == 0;
}

API cuModuleLoadData(void **module, const void *image) {
	if (module == NULL || image == NULL) {
		return INVALID_VALUE;
	}
	if (!is_image(image)) {
		return INVALID_IMAGE;
	}
	Result r = make(module, "module");
	size_t bytes = r == 0 ? gaugeblock_image_bytes(image) : 0;
	Thing *t = r == 0 ? *module : NULL;
	if (bytes > 0 && (t->image = malloc(bytes)) != NULL) {
		memcpy(t->image, image, bytes);
	}
	return r;
}

API cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
	(void)count, (void)options, (void)values;
	return cuModuleLoadData(module, image);
}

API cuModuleLoadFatBinary(void **module, const void *image) { return cuModuleLoadData(module, image); }

API cuModuleUnload(void *module) { return unmake(module); }

API cuModuleGetFunction(void **function, void *module, const char *name) {
	const Thing *of = find(module);
	Result r = of == NULL ? INVALID_HANDLE : make(function, name);
	if (r == 0) {
		Thing *t = *function;
		t->count = gaugeblock_parameters(of->image, name, t->sizes);
	}
	return r;
}

// tell writes an answer, if there is a place for it.
#define TELL(place, value) ((place) == NULL ? INVALID_VALUE : (*(place) = (value), 0))

API cuModuleGetFunctionCount(unsigned *count, void *module) { return find(module) == NULL ? INVALID_HANDLE : TELL(count, 0); }

API cuModuleGetLoadingMode(int *mode) { return TELL(mode, 2); } // lazy

// Variables of a module have memory of its own, which is not counted: who asks is told a page's
// worth that nobody reads.
API cuModuleGetGlobal_v2(Ptr *place, size_t *bytes, void *module, const char *name) {
	static char variable[4096];
	if (find(module) == NULL) {
		return INVALID_HANDLE;
	}
	if (name == NULL) {
		return INVALID_VALUE;
	}
	if (place != NULL) {
		*place = P(variable);
	}
	if (bytes != NULL) {
		*bytes = sizeof variable;
	}
	return 0;
}

API cuLibraryLoadData(void **library, const void *code, int *jit, void **jit_values, unsigned jit_count, int *options,
	void **values, unsigned count) {
	(void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
	return cuModuleLoadData(library, code);
}

API cuLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values, unsigned jit_count, int *options,
	void **values, unsigned count) {
	(void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
	return cuModuleLoad(library, path);
}

API cuLibraryUnload(void *library) { return cuModuleUnload(library); }
API cuLibraryGetKernel(void **kernel, void *library, const char *name) { return cuModuleGetFunction(kernel, library, name); }
API cuLibraryGetKernelCount(unsigned *count, void *library) { return cuModuleGetFunctionCount(count, library); }
API cuLibraryGetGlobal(Ptr *place, size_t *bytes, void *library, const char *name) {
	return cuModuleGetGlobal_v2(place, bytes, library, name);
}
API cuLibraryGetManaged(Ptr *place, size_t *bytes, void *library, const char *name) {
	return cuModuleGetGlobal_v2(place, bytes, library, name);
}

static Result same(void **out, void *in) { return find(in) == NULL ? INVALID_HANDLE : TELL(out, in); }
API cuLibraryGetModule(void **module, void *library) { return same(module, library); }
API cuKernelGetFunction(void **function, void *kernel) { return same(function, kernel); }
API cuFuncGetModule(void **module, void *function) { return same(module, function); }

API cuFuncGetName(const char **name, void *function) {
	const Thing *t = find(function);
	return t == NULL ? INVALID_HANDLE : TELL(name, t->name);
}
API cuKernelGetName(const char **name, void *kernel) { return cuFuncGetName(name, kernel); }

API cuFuncIsLoaded(int *state, void *function) {
	return find(function) == NULL ? INVALID_HANDLE : TELL(state, 1);
}

API cuFuncLoad(void *function) {
	(void)function;
	return 0;
}

// What is said of a kernel's code is what a small kernel would have.
static int function_attribute(int attribute) {
	switch (attribute) {
	case 0: // threads of a block
		return 1024;
	case 4: // registers
		return 32;
	case 5: // versions of the code
	case 6:
		return 10 * gaugeblock_attribute(75) + gaugeblock_attribute(76);
	case 8: // shared memory
		return 48 << 10;
	case 9: // which part of the memory is to be shared memory: no wish
		return -1;
	}
	return 0;
}

API cuFuncGetAttribute(int *value, int attribute, void *function) {
	return find(function) == NULL ? INVALID_HANDLE : TELL(value, function_attribute(attribute));
}

API cuKernelGetAttribute(int *value, int attribute, void *kernel, int device) {
	(void)device;
	return cuFuncGetAttribute(value, attribute, kernel);
}

API cuFuncSetAttribute(void *function, int attribute, int value) {
	(void)function, (void)attribute, (void)value;
	return 0;
}

API cuKernelSetAttribute(int attribute, int value, void *kernel, int device) {
	(void)device;
	return cuFuncSetAttribute(kernel, attribute, value);
}

API cuFuncSetCacheConfig(void *function, int config) {
	(void)function, (void)config;
	return 0;
}

API cuKernelSetCacheConfig(void *kernel, int config, int device) {
	(void)device;
	return cuFuncSetCacheConfig(kernel, config);
}

API cuFuncSetSharedMemConfig(void *function, int config) { return cuFuncSetCacheConfig(function, config); }

// launch tells of the pointers among the arguments: the kernel may write there.
static Result launch(void *function, void **arguments, void *stream) {
	const Thing *t = find(function);
	if (t == NULL) {
		return INVALID_HANDLE;
	}
	for (int i = 0; arguments != NULL && i < t->count; i++) {
		uint64_t value;
		if (arguments[i] != NULL && t->sizes[i] == sizeof value) {
			memcpy(&value, arguments[i], sizeof value);
			gaugeblock_touched(value);
		}
	}
	return gaugeblock_launch_kernel(t->name, stream);
}

API cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **arguments, void **extra) {
	enum { MOST_THREADS = 1024 };
	(void)shared, (void)extra;
	if (function != NULL && (gx == 0 || gy == 0 || gz == 0 || bx == 0 || by == 0 || bz == 0 || (uint64_t)bx * by * bz > MOST_THREADS)) {
		return INVALID_VALUE;
	}
	return launch(function, arguments, stream);
}

API cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **arguments) {
	return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, NULL);
}

typedef struct { unsigned grid[3], block[3], shared; void *stream, *attributes; unsigned count; } LaunchConfig;

API cuLaunchKernelEx(const LaunchConfig *config, void *function, void **arguments, void **extra) {
	(void)extra;
	return config == NULL ? INVALID_VALUE : launch(function, arguments, config->stream);
}

API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared, unsigned flags) {
	(void)function, (void)flags;
	return TELL(blocks, gaugeblock_occupancy(threads, shared));
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

API cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, void *shared_of, size_t shared, int limit) {
	(void)function, (void)shared_of, (void)shared;
	if (grid == NULL || block == NULL) {
		return INVALID_VALUE;
	}
	*block = limit > 0 && limit < 1024 ? limit : 1024;
	*grid = gaugeblock_attribute(16) * gaugeblock_occupancy(*block, shared);
	return 0;
}

API cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *config) {
	(void)function, (void)config;
	return TELL(clusters, gaugeblock_attribute(16));
}

API cuOccupancyMaxPotentialClusterSize(int *size, void *function, const void *config) {
	(void)function, (void)config;
	return TELL(size, 8);
}

API cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, void *function, int blocks, int threads) {
	(void)function, (void)threads;
	return TELL(bytes, blocks > 0 ? (size_t)(gaugeblock_attribute(81) / blocks) : 0);
}

// Linking gives something that can be loaded.
API cuLinkCreate_v2(unsigned count, int *options, void **values, void **state) {
	(void)count, (void)options, (void)values;
	return make(state, "linked");
}

API cuLinkAddData_v2(void *state, int type, void *data, size_t bytes, const char *name, unsigned count, int *options, void **values) {
	(void)type, (void)bytes, (void)name, (void)count, (void)options, (void)values;
	return find(state) == NULL ? INVALID_HANDLE : data == NULL ? INVALID_VALUE : 0;
}

API cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options, void **values) {
	(void)type, (void)count, (void)options, (void)values;
	return find(state) == NULL ? INVALID_HANDLE : path == NULL ? INVALID_VALUE : access(path, R_OK) != 0 ? FILE_NOT_FOUND : 0;
}

API cuLinkComplete(void *state, void **image, size_t *bytes) {
	const Thing *t = find(state);
	if (t == NULL) {
		return INVALID_HANDLE;
	}
	if (image == NULL || bytes == NULL) {
		return INVALID_VALUE;
	}
	*image = (void *)t->name;
	*bytes = sizeof t->name;
	return 0;
}

API cuLinkDestroy(void *state) { return cuModuleUnload(state); }

API cuTensorMapEncodeTiled(void *map) {
	return map == NULL ? INVALID_VALUE : (memset(map, 0, 128), 0);
}

API cuProfilerStart(void) { return 0; }
API cuProfilerStop(void) { return 0; }

// There are no tables of functions that are not documented. Who asks for one is a CUDA runtime that is
// linked in statically.
API cuGetExportTable(const void **table, const void *uuid) {
	(void)uuid;
	if (table != NULL) {
		*table = NULL;
	}
	gaugeblock_lacks("a CUDA runtime that is linked in statically (it asks for cuGetExportTable; link with -cudart shared)");
	return INVALID_VALUE;
}

// The names without a version, for who looks them up by dlsym.
#define UNVERSIONED(name) GAUGEBLOCK_API __typeof__(name##_v2) name __attribute__((alias(#name "_v2")));
UNVERSIONED(cuLinkAddData)
UNVERSIONED(cuLinkAddFile)
UNVERSIONED(cuLinkCreate)
UNVERSIONED(cuModuleGetGlobal)
