// Kernels as a compiler registers and launches them, what is said of them and of the device, and
// memory of the host's. It prints what differs from what it should be.
#include "gaugeblock_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } Dim;
extern void **__cudaRegisterFatBinary(void *wrapper);
extern void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *, void *, void *, void *, int *);
extern void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global);
extern unsigned __cudaPushCallConfiguration(Dim grid, Dim block, size_t shared, void *stream);
extern int __cudaPopCallConfiguration(Dim *grid, Dim *block, size_t *shared, void **stream);
extern int cudaLaunchKernel(const void *function, Dim grid, Dim block, void **arguments, size_t shared, void *stream);
extern int cudaFuncGetAttributes(void *attributes, const void *function);
extern int cudaGetSymbolAddress(void **place, const void *symbol);
extern int cudaGetSymbolSize(size_t *bytes, const void *symbol);
extern int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
extern int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t shared);
extern int cudaDeviceGetAttribute(int *value, int attribute, int device);

static int wrong;

static void is(const char *what, long long got, long long want) {
	if (got != want) {
		printf("%s: %lld, not %lld\n", what, got, want);
		wrong++;
	}
}
#define IS(call, want) is(#call, (long long)(call), want)

// A fat binary with code for one or two architectures.
typedef struct { unsigned short kind, version; unsigned header; uint64_t bytes; unsigned packed, unused; unsigned short minor, major; unsigned architecture; } Piece;
static struct { unsigned magic; unsigned short version, header; uint64_t bytes; Piece pieces[2]; } binary = {
	0xba55ed50, 1, 16, 2 * sizeof(Piece), {{2, 1, sizeof(Piece), 0, 0, 0, 0, 0, 80}, {2, 1, sizeof(Piece), 0, 0, 0, 0, 0, 86}}};
static struct { unsigned magic, version; const void *pieces; const char *file; } wrapper = {0x466243b1, 1, &binary, NULL};

static void kernel(void) {}
static char variable[8];

static void kernels(int binary_version) {
	struct { size_t sizes[3]; int threads, registers, ptx, binary, rest[32]; } a;
	void **handle = __cudaRegisterFatBinary(&wrapper), *place, *stream = (void *)7;
	size_t bytes = 0;
	Dim one = {1, 1, 1}, grid, block;
	__cudaRegisterFunction(handle, (const char *)kernel, NULL, "kernel", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(handle, variable, variable, "variable", 0, sizeof variable, 0, 0);
	IS(cudaFuncGetAttributes(&a, (const void *)kernel), binary_version == 0 ? 209 : 0);
	is("architecture of the code", a.binary, binary_version);
	IS(cudaLaunchKernel((const void *)kernel, one, one, NULL, 0, NULL), binary_version == 0 ? 209 : 0);
	IS(__cudaPushCallConfiguration(one, (Dim){32, 2, 1}, 5, NULL), 0);
	IS(__cudaPopCallConfiguration(&grid, &block, &bytes, &stream), 0);
	is("block", block.x * 100 + block.y, 3202), is("shared", (long long)bytes, 5), is("stream", stream != NULL, 0);
	IS(__cudaPopCallConfiguration(&grid, &block, &bytes, &stream) != 0, 1);
	IS(cudaGetSymbolSize(&bytes, variable), 0);
	is("size of the variable", (long long)bytes, sizeof variable);
	IS(cudaGetSymbolAddress(&place, variable), 0);
	IS(cudaGetSymbolAddress(&place, &wrong), 13);
	IS(cudaMemcpyToSymbol(variable, &bytes, 8, 0, 1), 0);
	IS(cudaMemcpyToSymbol(variable, &bytes, 8, 1, 1), 1);
}

static void modules(void) {
	CUmodule module;
	CUfunction function;
	IS(cuModuleLoadData(&module, "// any code"), 0);
	IS(cuModuleGetFunction(&function, module, "any_kernel"), 0);
	IS(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
	IS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 400);
}

static void host_memory(void) {
	char *own = malloc(4096), *pinned, *on_device;
	struct cudaPointerAttributes p;
	IS(cudaPointerGetAttributes(&p, own), 0), is("type of own memory", p.type, 0);
	IS(cudaHostRegister(own, 4096, 0), 0);
	IS(cudaHostRegister(own + 100, 10, 0), 712);
	IS(cudaPointerGetAttributes(&p, own + 4095), 0), is("type of registered memory", p.type, 1);
	IS(cudaHostUnregister(own + 1), 1);
	IS(cudaHostUnregister(own), 0);
	IS(cudaPointerGetAttributes(&p, own), 0), is("type of own memory", p.type, 0);
	IS(cudaMallocHost((void **)&pinned, 5000), 0);
	IS(cudaPointerGetAttributes(&p, pinned + 4999), 0), is("type of pinned memory", p.type, 1);
	IS(cudaFreeHost(pinned + 1), 1);
	IS(cudaFreeHost(pinned), 0);
	IS(cudaMalloc((void **)&on_device, 3000), 0);
	IS(cudaPointerGetAttributes(&p, on_device + 10), 0), is("type of the device's memory", p.type, 2);
	CUdeviceptr base;
	size_t bytes;
	IS(cuMemGetAddressRange(&base, &bytes, (CUdeviceptr)(uintptr_t)on_device + 10), 0);
	is("beginning", base == (CUdeviceptr)(uintptr_t)on_device, 1), is("size", (long long)bytes, 3000);
	IS(cudaFree(on_device), 0);
	free(own);
}

// usage: kernels NAME MAJOR MINOR PROCESSORS BLOCKS ARCHITECTURE FREE
int main(int count, char **expected) {
	struct cudaDeviceProp p;
	int value;
	size_t available, total;
	if (count != 8) {
		return 2;
	}
	IS(cudaGetDeviceProperties(&p, 0), 0);
	is("name", strcmp(p.name, expected[1]), 0);
	is("major", p.major, atoi(expected[2])), is("minor", p.minor, atoi(expected[3])), is("processors", p.multiProcessorCount, atoi(expected[4]));
	IS(cudaDeviceGetAttribute(&value, 16, 0), 0), is("processors", value, atoi(expected[4]));
	IS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, (const void *)kernel, 256, 0), 0), is("blocks", value, atoi(expected[5]));
	IS(cudaMemGetInfo(&available, &total), 0), is("free", (long long)available, atoll(expected[7])), is("total", (long long)total, (long long)p.totalGlobalMem);
	kernels(atoi(expected[6]));
	modules();
	host_memory();
	printf("%d wrong\n", wrong);
	return 0;
}
