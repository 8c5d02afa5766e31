// Kernels in the runtime's interface. A program registers the code that it has for a device,
// and launches it by the address of a function of the host's. The fake GPU runs none of it: a
// launch is a piece of work on its stream that names no memory.
#include "core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef int Error;
typedef struct { unsigned x, y, z; } Dim;

enum { INVALID_SYMBOL = 13, NO_KERNEL_IMAGE = 209 };

// The code of a program for devices, one piece for each architecture that it was built for.
typedef struct { unsigned magic, version; const void *pieces; const char *file; } Wrapper;
typedef struct { unsigned magic; unsigned short version, header; uint64_t bytes; } Pieces;
typedef struct { unsigned short kind, version; unsigned header; uint64_t bytes; unsigned packed, unused; unsigned short minor, major; unsigned architecture; } Piece;

enum { WRAPPER_MAGIC = 0x466243b1, PIECES_MAGIC = 0xba55ed50, PTX = 1, BINARY = 2, UNKNOWN = -1 };

typedef struct {
	const Wrapper *wrapper;
	int architecture; // of the piece that the device takes; 0: there is none for it
} Code;

// architecture_for chooses the piece as the driver does: binary code of the device's major version
// and no later minor one, or else PTX for no later architecture, which it compiles.
static int architecture_for(const Wrapper *w, int device) {
	const Pieces *p = w->magic == WRAPPER_MAGIC ? w->pieces : NULL;
	int binary = 0, ptx = 0;
	if (p == NULL || p->magic != PIECES_MAGIC) {
		return device; // nothing is known of it
	}
	const char *at = (const char *)p + p->header, *end = at + p->bytes;
	while (at + sizeof(Piece) <= end) {
		const Piece *piece = (const Piece *)at;
		int a = (int)piece->architecture;
		if (piece->kind == BINARY && a / 10 == device / 10 && a <= device && a > binary) {
			binary = a;
		}
		if (piece->kind == PTX && a <= device && a > ptx) {
			ptx = a;
		}
		at += piece->header + piece->bytes;
	}
	return binary != 0 ? binary : ptx;
}

// Threads that ask for the first time find the same.
static int architecture_of(Code *code) {
	int is = __atomic_load_n(&code->architecture, __ATOMIC_RELAXED);
	if (is == UNKNOWN) {
		is = architecture_for(code->wrapper, 10 * gaugeblock_attribute(75) + gaugeblock_attribute(76));
		__atomic_store_n(&code->architecture, is, __ATOMIC_RELAXED);
	}
	return is;
}

// What is registered, by the address that the host has for it: a table with open addressing,
// since a program like PyTorch registers a hundred thousand kernels.
typedef struct {
	const void *host;
	const char *name;
	Code *code;   // of a kernel; NULL if nothing is known of it
	size_t bytes; // of a variable; 0: a kernel
	void *place;  // of a variable, when it has been asked for
} Entry;
static Entry *table;
static size_t slots, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static Entry *find(const void *host) {
	size_t i = P(host) * 0x9e3779b97f4a7c15ull >> 20 & (slots - 1);
	while (table[i].host != NULL && table[i].host != host) {
		i = (i + 1) & (slots - 1);
	}
	return &table[i];
}

static void grow(void) {
	Entry *old = table;
	size_t before = slots;
	slots = before == 0 ? 1 << 12 : 2 * before;
	table = calloc(slots, sizeof *table);
	if (table == NULL) {
		abort();
	}
	for (size_t i = 0; i < before; i++) {
		if (old[i].host != NULL) {
			*find(old[i].host) = old[i];
		}
	}
	free(old);
}

static void enter(const void *host, const char *name, Code *code, size_t bytes) {
	pthread_mutex_lock(&lock);
	if (2 * used >= slots) {
		grow();
	}
	Entry *e = find(host);
	used += e->host == NULL;
	e->host = host, e->name = name, e->code = code, e->bytes = bytes;
	pthread_mutex_unlock(&lock);
}

// A program's code is never given up: kernels of it may be asked for until the end.
GAUGEBLOCK_API void **__cudaRegisterFatBinary(void *wrapper) {
	Code *code = malloc(sizeof *code);
	if (code == NULL) {
		abort();
	}
	*code = (Code){wrapper, UNKNOWN};
	return (void **)code;
}

GAUGEBLOCK_API void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
GAUGEBLOCK_API void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

GAUGEBLOCK_API char __cudaInitModule(void **handle) {
	(void)handle;
	return 1;
}

GAUGEBLOCK_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads,
	void *thread, void *block, void *block_size, void *grid_size, int *warp) {
	(void)device, (void)threads, (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp;
	enter(host, name, (Code *)handle, 0);
}

GAUGEBLOCK_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
	size_t bytes, int constant, int global) {
	(void)handle, (void)device, (void)external, (void)constant, (void)global;
	enter(host, name, NULL, bytes);
}

static Entry *variable(const void *symbol) {
	Entry *e = slots == 0 ? NULL : find(symbol);
	return e != NULL && e->host != NULL && e->bytes > 0 ? e : NULL;
}

// A variable's memory is part of the module's on a real device, and counted with the context.
// Here it is an address that nothing else has: nobody reads it.
GAUGEBLOCK_API Error cudaGetSymbolAddress(void **place, const void *symbol) {
	if (place == NULL) {
		return INVALID_VALUE;
	}
	pthread_mutex_lock(&lock);
	Entry *e = variable(symbol);
	if (e != NULL && e->place == NULL) {
		e->place = calloc(1, e->bytes);
	}
	*place = e == NULL ? NULL : e->place;
	pthread_mutex_unlock(&lock);
	return *place == NULL ? INVALID_SYMBOL : 0;
}

GAUGEBLOCK_API Error cudaGetSymbolSize(size_t *bytes, const void *symbol) {
	if (bytes == NULL) {
		return INVALID_VALUE;
	}
	pthread_mutex_lock(&lock);
	Entry *e = variable(symbol);
	*bytes = e == NULL ? 0 : e->bytes;
	pthread_mutex_unlock(&lock);
	return e == NULL ? INVALID_SYMBOL : 0;
}

GAUGEBLOCK_API Error cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset, int kind) {
	(void)src, (void)kind;
	size_t whole;
	Error r = cudaGetSymbolSize(&whole, symbol);
	return r != 0 ? r : offset > whole || bytes > whole - offset ? INVALID_VALUE : 0;
}

GAUGEBLOCK_API Error cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes, size_t offset, int kind,
	void *stream) {
	(void)stream;
	return cudaMemcpyToSymbol(symbol, src, bytes, offset, kind);
}

// The triple angle brackets: the compiler pushes the configuration, calls the function of the
// host's, which pops it and launches itself. Arguments of a launch may launch in turn.
enum { MAX_NESTED = 16 };
typedef struct { Dim grid, block; size_t shared; void *stream; } Configuration;
static __thread Configuration configurations[MAX_NESTED];
static __thread unsigned configured;

GAUGEBLOCK_API unsigned __cudaPushCallConfiguration(Dim grid, Dim block, size_t shared, void *stream) {
	if (configured == MAX_NESTED) {
		return INVALID_VALUE;
	}
	configurations[configured++] = (Configuration){grid, block, shared, stream};
	return 0;
}

GAUGEBLOCK_API Error __cudaPopCallConfiguration(Dim *grid, Dim *block, size_t *shared, void **stream) {
	if (configured == 0) {
		return INVALID_VALUE;
	}
	Configuration c = configurations[--configured];
	*grid = c.grid, *block = c.block, *shared = c.shared, *stream = c.stream;
	return 0;
}

// A kernel's handle is the address by which it was registered.
static Error same(const void **kernel, const void *function) {
	if (kernel == NULL) {
		return INVALID_VALUE;
	}
	*kernel = function;
	return 0;
}
GAUGEBLOCK_API Error __cudaGetKernel(const void **kernel, const void *function) { return same(kernel, function); }
GAUGEBLOCK_API Error cudaGetKernel(const void **kernel, const void *function) { return same(kernel, function); }
GAUGEBLOCK_API Error cudaGetFuncBySymbol(const void **kernel, const void *function) { return same(kernel, function); }

// kernel is what is known of a kernel.
static Entry kernel(const void *function) {
	pthread_mutex_lock(&lock);
	Entry e = {function, NULL, NULL, 0, NULL};
	if (slots > 0 && find(function)->host != NULL) {
		e = *find(function);
	}
	pthread_mutex_unlock(&lock);
	return e;
}

// moved is how much a kernel moves, if each thread reads and writes some vectors of 16 bytes. Of code that runs in
// a loop over more it is too little.
static uint64_t moved(Dim grid, Dim block) {
	enum { OF_THREAD = 48 };
	return (uint64_t)grid.x * grid.y * grid.z * block.x * block.y * block.z * OF_THREAD;
}

static Error launch(const void *function, Dim grid, Dim block, void *stream) {
	Entry e = kernel(function);
	if (e.code != NULL && architecture_of(e.code) == 0) {
		return gaugeblock_ended(NO_KERNEL_IMAGE);
	}
	return gaugeblock_ended(gaugeblock_launch_of(e.code, e.name == NULL ? "kernel" : e.name, stream, moved(grid, block), 0));
}

GAUGEBLOCK_API Error cudaLaunchKernel(const void *function, Dim grid, Dim block, void **arguments, size_t shared, void *stream) {
	(void)arguments, (void)shared;
	return launch(function, grid, block, stream);
}

GAUGEBLOCK_API Error __cudaLaunchKernel(const void *function, Dim grid, Dim block, void **arguments, size_t shared, void *stream) {
	return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

GAUGEBLOCK_API Error cudaLaunchCooperativeKernel(const void *function, Dim grid, Dim block, void **arguments, size_t shared,
	void *stream) {
	return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

typedef struct { Dim grid, block; size_t shared; void *stream, *attributes; unsigned count; } LaunchConfig;

GAUGEBLOCK_API Error cudaLaunchKernelExC(const LaunchConfig *config, const void *function, void **arguments) {
	if (config == NULL) {
		return INVALID_VALUE;
	}
	(void)arguments;
	return launch(function, config->grid, config->block, config->stream);
}

// What is said of a kernel's code is what a small kernel would have.
typedef struct {
	size_t shared, constants, local;
	int threads, registers, ptx, binary, cache_mode, dynamic, carveout, cluster_must, cluster[3], non_portable, scheduling;
	int reserved[16];
} Attributes;

GAUGEBLOCK_API Error cudaFuncGetAttributes(Attributes *a, const void *function) {
	if (a == NULL) {
		return INVALID_VALUE;
	}
	Entry e = kernel(function);
	memset(a, 0, sizeof *a);
	a->threads = 1024, a->registers = 32, a->dynamic = 48 << 10, a->carveout = -1;
	a->ptx = a->binary = e.code == NULL ? 10 * gaugeblock_attribute(75) + gaugeblock_attribute(76) : architecture_of(e.code);
	return gaugeblock_ended(a->binary == 0 ? NO_KERNEL_IMAGE : 0);
}

GAUGEBLOCK_API Error cudaFuncSetAttribute(const void *function, int attribute, int value) {
	(void)function, (void)attribute, (void)value;
	return 0;
}

GAUGEBLOCK_API Error cudaFuncSetCacheConfig(const void *function, int config) {
	(void)function, (void)config;
	return 0;
}

GAUGEBLOCK_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
	size_t shared, unsigned flags) {
	if (blocks == NULL) {
		return INVALID_VALUE;
	}
	(void)function, (void)flags;
	*blocks = gaugeblock_occupancy(threads, shared);
	return 0;
}

GAUGEBLOCK_API Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t shared) {
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

GAUGEBLOCK_API Error cudaProfilerStart(void) { return 0; }
GAUGEBLOCK_API Error cudaProfilerStop(void) { return 0; }

// Libraries of kernels that are loaded while the program runs: modules.c has them.
extern int cuLibraryLoadData(void **, const void *, int *, void **, unsigned, int *, void **, unsigned);
extern int cuLibraryUnload(void *);
extern int cuLibraryGetKernel(void **, void *, const char *);
extern int cuLibraryLoadFromFile(void **, const char *, int *, void **, unsigned, int *, void **, unsigned);
extern int cuLibraryGetKernelCount(unsigned *, void *);
extern int cuKernelGetName(const char **, void *);
extern int cuLibraryGetGlobal(uint64_t *, size_t *, void *, const char *);

GAUGEBLOCK_API Error cudaLibraryLoadData(void **library, const void *code, int *jit, void **jit_values, unsigned jit_count,
	int *options, void **values, unsigned count) {
	return gaugeblock_ended(cuLibraryLoadData(library, code, jit, jit_values, jit_count, options, values, count));
}

GAUGEBLOCK_API Error cudaLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values, unsigned jit_count,
	int *options, void **values, unsigned count) {
	return gaugeblock_ended(cuLibraryLoadFromFile(library, path, jit, jit_values, jit_count, options, values, count));
}

GAUGEBLOCK_API Error cudaLibraryUnload(void *library) { return gaugeblock_ended(cuLibraryUnload(library)); }

GAUGEBLOCK_API Error cudaLibraryGetKernelCount(unsigned *count, void *library) { return cuLibraryGetKernelCount(count, library); }

// A kernel of such a library is launched by its handle, so that has the name.
GAUGEBLOCK_API Error cudaLibraryGetKernel(void **kernel, void *library, const char *name) {
	if (kernel == NULL) {
		return INVALID_VALUE;
	}
	int r = cuLibraryGetKernel(kernel, library, name);
	const char *kept; // the caller's may be gone at the launch
	if (r == 0 && cuKernelGetName(&kept, *kernel) == 0) {
		enter(*kernel, kept, NULL, 0);
	}
	return gaugeblock_ended(r);
}

GAUGEBLOCK_API Error cudaLibraryGetUnifiedFunction(void **function, void *library, const char *name) {
	return cudaLibraryGetKernel(function, library, name);
}

GAUGEBLOCK_API Error cudaLibraryGetGlobal(void **place, size_t *bytes, void *library, const char *name) {
	if (place == NULL) {
		return INVALID_VALUE;
	}
	uint64_t at = 0;
	int r = cuLibraryGetGlobal(&at, bytes, library, name);
	*place = (void *)at;
	return gaugeblock_ended(r);
}

GAUGEBLOCK_API Error cudaLibraryGetManaged(void **place, size_t *bytes, void *library, const char *name) {
	return cudaLibraryGetGlobal(place, bytes, library, name);
}

GAUGEBLOCK_API Error cudaKernelSetAttributeForDevice(const void *kernel, int attribute, int value, int device) {
	(void)device;
	return cudaFuncSetAttribute(kernel, attribute, value);
}
