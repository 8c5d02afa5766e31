// Modules, libraries and kernels in the driver's interface. Of a module is read which parameters its
// kernels have, and every name is found in it.
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID_IMAGE = 200, FILE_NOT_FOUND = 301 };

typedef int Result;
typedef uint64_t Ptr;

// A module, which has an image, or a kernel, which has a name and parameters.
typedef struct {
	char name[256];
	void *image;
	int count;
	unsigned short sizes[MAX_PARAMETERS];
} Thing;

static Result make(void **made, const char *name) {
	Thing *t = calloc(1, sizeof *t);
	if (t == NULL) {
		return OUT_OF_MEMORY;
	}
	snprintf(t->name, sizeof t->name, "%s", name);
	*made = t;
	return 0;
}

#define API GAUGEBLOCK_API Result

API cuModuleLoad(void **module, const char *path) {
	return path == NULL || access(path, R_OK) != 0 ? FILE_NOT_FOUND : make(module, "module");
}

// An image is code for a device (ELF), several in one (a fat binary, or what leads to it), text in PTX,
// of which only that it is text is looked at, or what cuLinkComplete has made.
static int is_image(const void *image) {
	uint32_t word;
	memcpy(&word, image, sizeof word);
	return word == 0x464c457f || word == 0xba55ed50 || word == 0x466243b1 || memcmp(image, "//", 2) == 0 ||
		memcmp(image, ".ver", 4) == 0 || memcmp(image, "\n", 1) == 0 || strcmp(image, "linked") == 0;
}

API cuModuleLoadData(void **module, const void *image) {
	if (image == NULL) {
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

API cuModuleUnload(void *module) {
	free(((Thing *)module)->image);
	free(module);
	return 0;
}

API cuModuleGetFunction(void **function, void *module, const char *name) {
	Result r = module == NULL ? INVALID_HANDLE : make(function, name);
	if (r == 0) {
		Thing *t = *function;
		t->count = gaugeblock_parameters(((Thing *)module)->image, name, t->sizes);
	}
	return r;
}

API cuModuleGetFunctionCount(unsigned *count, void *module) {
	(void)module;
	*count = 0;
	return 0;
}

API cuModuleGetLoadingMode(int *mode) {
	*mode = 2; // lazy
	return 0;
}

// Variables of a module have memory of its own, which is not counted: who asks is told a page's
// worth that nobody reads.
API cuModuleGetGlobal_v2(Ptr *place, size_t *bytes, void *module, const char *name) {
	static char variable[4096];
	(void)module, (void)name;
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
	return cuLibraryLoadData(library, path, jit, jit_values, jit_count, options, values, count);
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

static Result same(void **out, void *in) {
	*out = in;
	return 0;
}
API cuLibraryGetModule(void **module, void *library) { return same(module, library); }
API cuKernelGetFunction(void **function, void *kernel) { return same(function, kernel); }
API cuFuncGetModule(void **module, void *function) { return same(module, function); }

API cuFuncGetName(const char **name, void *function) {
	*name = ((Thing *)function)->name;
	return 0;
}
API cuKernelGetName(const char **name, void *kernel) { return cuFuncGetName(name, kernel); }

API cuFuncIsLoaded(int *state, void *function) {
	(void)function;
	*state = 1;
	return 0;
}

API cuFuncLoad(void *function) {
	(void)function;
	return 0;
}

// What is said of a kernel's code is what a small kernel would have.
API cuFuncGetAttribute(int *value, int attribute, void *function) {
	(void)function;
	switch (attribute) {
	case 0: // threads of a block
		*value = 1024;
		return 0;
	case 4: // registers
		*value = 32;
		return 0;
	case 5: // versions of the code
	case 6:
		*value = 10 * gaugeblock_attribute(75) + gaugeblock_attribute(76);
		return 0;
	case 8: // shared memory
		*value = 48 << 10;
		return 0;
	case 9: // which part of the memory is to be shared memory: no wish
		*value = -1;
		return 0;
	}
	*value = 0;
	return 0;
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
	const Thing *t = function;
	if (t == NULL) {
		return INVALID_HANDLE;
	}
	for (int i = 0; arguments != NULL && i < t->count; i++) {
		uint64_t value;
		if (t->sizes[i] == sizeof value) {
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
	return launch(function, arguments, config->stream);
}

API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared, unsigned flags) {
	(void)function, (void)flags;
	*blocks = gaugeblock_occupancy(threads, shared);
	return 0;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

API cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, void *shared_of, size_t shared, int limit) {
	(void)function, (void)shared_of, (void)shared;
	*block = limit > 0 && limit < 1024 ? limit : 1024;
	*grid = gaugeblock_attribute(16) * gaugeblock_occupancy(*block, shared);
	return 0;
}

API cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *config) {
	(void)function, (void)config;
	*clusters = gaugeblock_attribute(16);
	return 0;
}

API cuOccupancyMaxPotentialClusterSize(int *size, void *function, const void *config) {
	(void)function, (void)config;
	*size = 8;
	return 0;
}

API cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, void *function, int blocks, int threads) {
	(void)function, (void)threads;
	*bytes = blocks > 0 ? (size_t)(gaugeblock_attribute(81) / blocks) : 0;
	return 0;
}

// Linking gives something that can be loaded.
API cuLinkCreate_v2(unsigned count, int *options, void **values, void **state) {
	(void)count, (void)options, (void)values;
	return make(state, "linked");
}

API cuLinkAddData_v2(void *state, int type, void *data, size_t bytes, const char *name, unsigned count, int *options, void **values) {
	(void)state, (void)type, (void)data, (void)bytes, (void)name, (void)count, (void)options, (void)values;
	return 0;
}

API cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options, void **values) {
	(void)state, (void)type, (void)path, (void)count, (void)options, (void)values;
	return 0;
}

API cuLinkComplete(void *state, void **image, size_t *bytes) {
	*bytes = sizeof(Thing);
	return same(image, state);
}

API cuLinkDestroy(void *state) { return cuModuleUnload(state); }

API cuTensorMapEncodeTiled(void *map) {
	memset(map, 0, 128);
	return 0;
}

API cuProfilerStart(void) { return 0; }
API cuProfilerStop(void) { return 0; }

// There are no tables of functions that are not documented. Who asks for one is a CUDA runtime that is
// linked in statically.
API cuGetExportTable(const void **table, const void *uuid) {
	(void)uuid;
	*table = NULL;
	gaugeblock_lacks("a CUDA runtime that is linked in statically (it asks for cuGetExportTable; link with -cudart shared)");
	return INVALID_VALUE;
}

// The names without a version, for who looks them up by dlsym.
#define UNVERSIONED(name) GAUGEBLOCK_API __typeof__(name##_v2) name __attribute__((alias(#name "_v2")));
UNVERSIONED(cuLinkAddData)
UNVERSIONED(cuLinkAddFile)
UNVERSIONED(cuLinkCreate)
UNVERSIONED(cuModuleGetGlobal)
