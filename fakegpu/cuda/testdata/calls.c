// Calls of the runtime that the conversations of tests/gpu do not make, with what a real
// device answers. It prints what was otherwise, and ends with the number of such things.
#include "gaugeblock_cuda.h"

extern int cuArrayDestroy(void *array);
extern int cudaDeviceGetPCIBusId(char *id, int size, int device);
extern int cudaDeviceGetByPCIBusId(int *device, const char *id);
extern int cudaGetSymbolAddress(void **place, const void *symbol);
extern int cudaLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values, unsigned jit_count, int *options, void **values, unsigned count);
extern int cudaLibraryUnload(void *library);
extern int cudaLibraryGetKernel(void **kernel, void *library, const char *name);
typedef struct { unsigned x, y, z; } ThreeNumbers;
extern int cudaLaunchKernel(const void *function, ThreeNumbers grid, ThreeNumbers block, void **arguments, size_t shared, void *stream);
extern int cuLinkAddFile(void *state, int type, const char *path, unsigned count, int *options, void **values);
extern int cuCtxGetCacheConfig(int *config);

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { reserved = cudaMemPoolAttrReservedMemCurrent, used = cudaMemPoolAttrUsedMemCurrent, threshold = cudaMemPoolAttrReleaseThreshold };
enum { step = 32 << 20 };

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags, int *found);
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags);

static int wrong;

static void check(int line, const char *what, long got, long want) {
	if (got != want) {
		printf("line %d: %s is %ld, not %ld\n", line, what, got, want);
		wrong++;
	}
}
#define IS(what, want) check(__LINE__, #what, (long)(what), (long)(want))

static unsigned long long attribute(cudaMemPool_t pool, int which) {
	unsigned long long value = 0;
	IS(cudaMemPoolGetAttribute(pool, which, &value), 0);
	return value;
}

static size_t available(void) {
	size_t bytes, total;
	IS(cudaMemGetInfo(&bytes, &total), 0);
	return bytes;
}

// The memory of a pool that is destroyed goes when it is freed; no memory is the null pointer.
static void destroyed(void) {
	struct cudaMemPoolProps properties = {cudaMemAllocationTypePinned, cudaMemHandleTypeNone, {cudaMemLocationTypeDevice, 0}, NULL, 0, 0, {0}};
	cudaMemPool_t pool;
	void *p = &pool;
	size_t before = available();
	IS(cudaMemPoolCreate(&pool, &properties), 0);
	IS(cudaMallocFromPoolAsync(&p, 0, pool, 0), 0);
	IS(p == NULL, 1);
	IS(cudaMallocFromPoolAsync(&p, 40 << 20, pool, 0), 0);
	IS(before - available(), 2 * step);
	IS(cudaMemPoolDestroy(pool), 0);
	IS(before - available(), 2 * step);
	IS(cudaMallocFromPoolAsync(&p, 512, pool, 0), cudaErrorInvalidValue);
	IS(cudaFreeAsync(p, 0), 0);
	IS(cudaStreamSynchronize(0), 0);
	IS(before - available(), 0);
}

// The pools of the driver: memory freed on a stream is the stream's again at once, and
// another's when it is over.
static void pools(void) {
	cudaStream_t a, b;
	cudaMemPool_t pool;
	void *p, *q, *r;
	unsigned long long keep = ~0ull;
	IS(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), 0);
	IS(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), 0);
	IS(cudaDeviceGetDefaultMemPool(&pool, 0), 0);
	IS(cudaMallocAsync(&p, 4096, a), 0);
	IS(attribute(pool, used), 4096);
	IS(gaugeblock_busy(a), 0);
	IS(cudaMemsetAsync(p, 1, 4096, a), 0);
	IS(cudaFreeAsync(p, a), 0);
	IS(attribute(pool, used), 0);
	IS(attribute(pool, reserved), step);
	IS(cudaMallocAsync(&q, 4096, b), 0);
	IS(q == p, 0); // a is busy
	IS(cudaMallocAsync(&r, 4096, a), 0);
	IS(r == p, 1);
	IS(cudaFreeAsync(r, a), 0);
	IS(gaugeblock_drain(a), 0);
	IS(cudaMallocAsync(&r, 4096, b), 0);
	IS(r == p, 1);
	IS(cudaMemsetAsync(r, 2, 4096, b), 0);
	IS(cudaFreeAsync(r, b), 0);
	IS(cudaFreeAsync(r, b), cudaErrorInvalidValue);
	IS(cudaMemPoolSetAttribute(pool, threshold, &keep), 0);
	IS(cudaDeviceSynchronize(), 0);
	IS(attribute(pool, reserved), step);
	IS(cudaMallocAsync(&r, step, b), 0);
	IS(attribute(pool, used), step + 4096);
	IS(attribute(pool, reserved), 2 * step);
	IS(cudaFreeAsync(r, b), 0);
	IS(cudaMemPoolTrimTo(pool, 0), 0);
	IS(attribute(pool, reserved), 2 * step); // nobody has waited for the free
	IS(cudaStreamSynchronize(b), 0);
	IS(cudaMemPoolTrimTo(pool, 0), 0);
	IS(attribute(pool, reserved), step); // q is there
	IS(cudaFree(q), 0);
	IS(cudaMemPoolTrimTo(pool, 0), 0);
	IS(attribute(pool, reserved), 0);
	IS(gaugeblock_hazards(), 0);
	destroyed();
}

// A host function runs in the stream's order, and what is copied carries bytes.
static char seen;
static char back[8];

static void look(void *data) { seen = *(char *)data; }

static void hosts(void) {
	cudaStream_t s;
	char *p, bytes[8] = "abcdefg";
	IS(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), 0);
	IS(cudaMalloc((void **)&p, 1000), 0);
	IS(gaugeblock_busy(s), 0);
	IS(cudaMemcpyAsync(p + 3, bytes, 8, cudaMemcpyHostToDevice, s), 0);
	memset(bytes, 0, 8); // the copy has taken what was there
	IS(cudaMemcpyAsync(p + 500, p + 3, 8, cudaMemcpyDefault, s), 0);
	IS(cudaMemcpyAsync(back, p + 500, 8, cudaMemcpyDefault, s), 0);
	IS(cudaLaunchHostFunc(s, look, back), 0);
	cudaGetLastError();
	IS(cudaStreamQuery(s), cudaErrorNotReady);
	IS(cudaPeekAtLastError(), 0); // it is an answer, not an error
	IS(seen, 0);
	IS(gaugeblock_drain(s), 0);
	IS(cudaStreamQuery(s), 0);
	IS(seen, 'a');
	IS(strcmp(back, "abcdefg"), 0);
	IS(cudaMemcpy(back, p + 6, 2, cudaMemcpyDeviceToHost), 0);
	IS(back[0], 'd');
	IS(cudaFree(p), 0);
}

// The last error is the thread's, until it is asked for.
static void errors(void) {
	void *p;
	cudaGetLastError();
	IS(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
	IS(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
	IS(cudaGetLastError(), cudaErrorMemoryAllocation);
	IS(cudaGetLastError(), 0);
	int count, device;
	char id[16];
	IS(cudaGetDeviceCount(&count), 0);
	IS(cudaSetDevice(count), cudaErrorInvalidDevice);
	IS(cudaSetDevice(-1), cudaErrorInvalidDevice);
	IS(cudaDeviceGetPCIBusId(id, sizeof id, count), cudaErrorInvalidDevice);
	IS(cudaDeviceGetPCIBusId(NULL, sizeof id, 0), cudaErrorInvalidValue);
	IS(cudaDeviceGetPCIBusId(id, 0, 0), cudaErrorInvalidValue);
	IS(cudaDeviceGetPCIBusId(id, sizeof id, count - 1), 0);
	IS(cudaDeviceGetByPCIBusId(&device, id), 0);
	IS(device, count - 1);
	IS(cudaDeviceGetByPCIBusId(&device, NULL), cudaErrorInvalidValue);
	IS(cudaDeviceGetByPCIBusId(&device, "0000:FF:00.0"), cudaErrorInvalidValue);
	IS(cudaGetSymbolAddress(NULL, &count), cudaErrorInvalidValue);
	IS(cuCtxGetCacheConfig(NULL), cudaErrorInvalidValue);
	size_t pitch;
	IS(cuMemAllocPitch((CUdeviceptr *)&p, &pitch, (size_t)1 << 40, (size_t)1 << 30, 4), cudaErrorMemoryAllocation); // their product is no number of bytes
	enum { fileNotFound = 301, invalidHandle = 400 };
	IS(cudaLibraryLoadFromFile(&p, "/no/such/file", NULL, NULL, 0, NULL, NULL, 0), fileNotFound);
	IS(cudaLibraryLoadFromFile(&p, "/proc/self/exe", NULL, NULL, 0, NULL, NULL, 0), 0);
	void *loaded = NULL;
	enum { PAGE = 4096 };
	char *name = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(name, "own");
	IS(cudaLibraryGetKernel(&loaded, p, name), 0);
	IS(munmap(name, PAGE), 0); // a launch that reads it is killed
	const ThreeNumbers one = {1, 1, 1};
	IS(cudaLaunchKernel(loaded, one, one, NULL, 0, NULL), 0);
	IS(cudaLibraryGetKernel(NULL, p, "own"), cudaErrorInvalidValue);
	IS(cuLinkAddFile(p, 1, "/no/such/file", 0, NULL, NULL), fileNotFound);
	IS(cudaLibraryUnload(p), 0);
	IS(cuLinkAddFile(p, 1, "/no/such/file", 0, NULL, NULL), invalidHandle);
	IS(strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice"), 0);
	IS(cudaFree((void *)0x123400), cudaErrorInvalidValue);
	IS(cudaFree(NULL), 0);
	IS(cuArrayDestroy(NULL), cudaErrorNotSupported);
	cudaGetLastError();
}

// A function that CUDA has and the libraries do not fails when it is called.
static void entries(void) {
	void *f;
	int found;
	IS(cudaGetDriverEntryPointByVersion("cuArrayDestroy", &f, 12000, 0, &found), 0);
	IS(found, cudaDriverEntryPointSuccess);
	IS(f == (void *)cuArrayDestroy, 1);
	IS(cudaGetDriverEntryPointByVersion("cuMemCreate", &f, 12000, 0, &found), 0);
	IS(found, cudaDriverEntryPointSuccess);
	IS(f == NULL, 0);
	IS(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &f, 12000, 0, &found), 0);
	IS(found, cudaDriverEntryPointSymbolNotFound);
	IS(f == NULL, 1);
}

// A capture that is not relaxed forbids to allocate, except to a thread that says otherwise.
static void captures(void) {
	cudaStream_t s;
	cudaGraph_t g;
	void *p, *q;
	enum cudaStreamCaptureStatus status;
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	IS(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), 0);
	IS(cudaMalloc(&p, 4096), 0);
	IS(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), 0);
	IS(cudaThreadExchangeStreamCaptureMode(&mode), 0);
	IS(mode, cudaStreamCaptureModeGlobal);
	IS(cudaMalloc(&q, 4096), 0);
	IS(cudaThreadExchangeStreamCaptureMode(&mode), 0);
	IS(cudaMemsetAsync(p, 1, 16, s), 0);
	enum cudaStreamCaptureStatus info;
	unsigned long long id;
	const cudaGraphNode_t *nodes;
	size_t n;
	IS(cudaStreamGetCaptureInfo(s, &info, &id, &g, &nodes, NULL, &n), 0);
	IS(n, 1);
	IS(cudaStreamIsCapturing(s, &status), 0);
	IS(status, cudaStreamCaptureStatusActive);
	IS(cudaMalloc(&q, 4096), cudaErrorStreamCaptureUnsupported);
	IS(cudaStreamIsCapturing(s, &status), 0);
	IS(status, cudaStreamCaptureStatusInvalidated);
	IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
	IS(g == NULL, 1);
	cudaGetLastError();
}

// Memory that an allocator frees and allocates again while it may still be used.
static void owners(void) {
	cudaStream_t a, b;
	char *p, text[400];
	IS(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), 0);
	IS(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), 0);
	IS(cudaMalloc((void **)&p, 4096), 0);
	int before = gaugeblock_hazards();
	IS(gaugeblock_allocated(p, 512, a), 0);
	gaugeblock_range r = {p, 512};
	IS(gaugeblock_launch(a, "first", NULL, 0, &r, 1), 0);
	IS(gaugeblock_freed(p), 0);
	IS(gaugeblock_allocated(p, 512, b), 0);
	IS(gaugeblock_launch(b, "second", &r, 1, NULL, 0), 0);
	IS(gaugeblock_hazards(), before + 1);
	IS(gaugeblock_hazard(before, text, sizeof text) > 0, 1);
	IS(strstr(text, "\"second\"") != NULL, 1);
	IS(gaugeblock_hazard(before + 1, text, sizeof text), -1);

	// An allocator may cut up what it has of a pool of the driver's.
	IS(cudaMallocAsync((void **)&p, 4096, a), 0);
	IS(gaugeblock_allocated(p, 512, a), 0);
	IS(gaugeblock_allocated(p + 512, 512, b), 0);
	IS(gaugeblock_hazards(), before + 1);
	IS(gaugeblock_allocated(p + 256, 512, b), 0); // overlaps both
	IS(gaugeblock_hazards(), before + 3);
	IS(gaugeblock_freed(p + 256), 0);
	IS(cudaFreeAsync(p, a), 0);
	IS(gaugeblock_hazards(), before + 3);
}

// A handle is used again, and the id tells the streams apart.
static void handles(void) {
	cudaStream_t a, b;
	unsigned long long of_a, again, of_b, of_default;
	IS(cudaStreamCreate(&a), 0);
	IS(cudaStreamGetId(a, &of_a), 0);
	IS(cudaStreamGetId(a, &again), 0);
	IS(of_a, again);
	IS(cudaStreamDestroy(a), 0);
	IS(cudaStreamGetId(a, &again), cudaErrorInvalidResourceHandle);
	IS(cudaStreamCreate(&b), 0);
	IS(a == b, 1);
	IS(cudaStreamGetId(b, &of_b), 0);
	IS(of_a == of_b, 0);
	IS(cudaStreamGetId(NULL, &of_default), 0);
	IS(of_b == of_default, 0);
	IS(cudaStreamDestroy(b), 0);
	cudaGetLastError();
}

// Each thread has a default stream of its own.
static char *shared;
static unsigned long long of_thread;

static void *thread(void *unused) {
	unsigned long long again;
	IS(cudaStreamGetId(cudaStreamPerThread, &of_thread), 0);
	for (int i = 0; i < 2; i++) { // the thread's own stream is in order with itself
		IS(gaugeblock_allocated(shared, 512, cudaStreamPerThread), 0);
		IS(cudaMemsetAsync(shared, i, 16, cudaStreamPerThread), 0);
		IS(gaugeblock_freed(shared), 0);
	}
	IS(cudaStreamGetId(cudaStreamPerThread, &again), 0);
	IS(of_thread, again);
	return unused;
}

static void threads(void) {
	pthread_t t;
	unsigned long long own;
	IS(cudaMalloc((void **)&shared, 4096), 0);
	int before = gaugeblock_hazards();
	IS(pthread_create(&t, NULL, thread, NULL), 0);
	IS(pthread_join(t, NULL), 0);
	IS(gaugeblock_hazards(), before);
	IS(cudaStreamGetId(cudaStreamPerThread, &own), 0);
	IS(own == of_thread, 0);
	IS(gaugeblock_allocated(shared, 512, cudaStreamPerThread), 0);
	IS(cudaMemsetAsync(shared, 3, 16, cudaStreamPerThread), 0);
	IS(gaugeblock_hazards() > before, 1); // the thread's work may still run
	IS(gaugeblock_freed(shared), 0);
	IS(cudaDeviceSynchronize(), 0);
	IS(cudaFree(shared), 0);
}

int main(void) {
	pools();
	hosts();
	errors();
	entries();
	captures();
	owners();
	handles();
	threads();
	return wrong;
}
