#define _GNU_SOURCE
#include "core.h"
#include "peers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The machine is what a program registered, or else libgaugeblock_machine.so beside this
// library, which is loaded at the first call.
static _Atomic(gaugeblock_call) machine;
static pthread_once_t once = PTHREAD_ONCE_INIT;

GAUGEBLOCK_API void gaugeblock_cuda_register(gaugeblock_call call) { machine = call; }

// A child that was forked after the first call of CUDA has no CUDA: every call is an error there.
static int forked;
static void in_child(void) { forked = 1; }

static void finish(void) {
	uint64_t words[8] = {0};
	gaugeblock_call call = machine;
	if (call != NULL && !forked) {
		call(GAUGEBLOCK_FINISH, words);
	}
}

static void load(void) {
	if (machine != NULL) {
		return;
	}
	Dl_info self;
	char path[4096] = "libgaugeblock_machine.so";
	if (dladdr((void *)gaugeblock_do, &self) != 0 && strrchr(self.dli_fname, '/') != NULL) {
		int folder = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);
		snprintf(path, sizeof path, "%.*s/libgaugeblock_machine.so", folder, self.dli_fname);
	}
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *call = library == NULL ? NULL : dlsym(library, "gaugeblock_machine_call");
	if (call == NULL) {
		fprintf(stderr, "libcuda of the fake GPU: there is no machine: %s\n", dlerror());
		return;
	}
	machine = (gaugeblock_call)call;
	pthread_atfork(NULL, NULL, in_child);
	atexit(finish);
}

static __thread int capture_mode; // global, as CUDA has it

int gaugeblock_do(int operation, uint64_t *words) {
	gaugeblock_call call = machine;
	if (call == NULL) {
		pthread_once(&once, load);
		call = machine;
		if (call == NULL) {
			return NOT_INITIALIZED;
		}
	}
	if (forked) {
		return NOT_INITIALIZED;
	}
	gaugeblock_follow(operation, words);
	return call(operation | capture_mode << GAUGEBLOCK_MODE, words);
}

static __thread int current = -1;
static _Atomic char used[MAX_DEVICES]; // by the runtime's interface
static __thread uint64_t nodes[MAX_NODES];

int gaugeblock_current(void) { return current; }
// The runtime's first call makes device 0 current, for the driver's interface as well.
static _Atomic int initialized;
int gaugeblock_initialized(void) { return initialized; }
void gaugeblock_initialize(void) { initialized = 1; }
int gaugeblock_current_runtime(void) {
	initialized = 1;
	current = current < 0 ? 0 : current;
	used[current] = 1;
	return current;
}
int gaugeblock_runtime_uses(int device) { return used[device]; }
void gaugeblock_make_current(int device) { current = device; }
uint64_t *gaugeblock_nodes(void) { return nodes; }

int gaugeblock_attribute(int attribute) {
	WORDS((uint64_t)gaugeblock_current_runtime(), (uint64_t)attribute);
	gaugeblock_do(GAUGEBLOCK_ATTRIBUTE, w);
	return (int)w[2];
}

int gaugeblock_occupancy(int threads, size_t shared) {
	enum { WARP = 32, OF_PROCESSOR = 39, SHARED_OF_PROCESSOR = 81, BLOCKS = 106, RESERVED = 111 };
	if (threads <= 0) {
		return 0;
	}
	int most = gaugeblock_attribute(BLOCKS), by_threads = gaugeblock_attribute(OF_PROCESSOR) / WARP / ((threads - 1) / WARP + 1);
	size_t each = shared + (size_t)gaugeblock_attribute(RESERVED);
	size_t by_memory = each == 0 ? (size_t)most : (size_t)gaugeblock_attribute(SHARED_OF_PROCESSOR) / each;
	most = by_threads < most ? by_threads : most;
	return by_memory < (size_t)most ? (int)by_memory : most;
}

int gaugeblock_launch_kernel(const char *name, void *stream) { return gaugeblock_launch_sized(name, stream, 0, 0); }

int gaugeblock_launch_sized(const char *name, void *stream, uint64_t bytes, uint64_t operations) {
	return gaugeblock_launch_of(NULL, name, stream, bytes, operations);
}

int gaugeblock_launch_of(const void *code, const char *name, void *stream, uint64_t bytes, uint64_t operations) {
	uint64_t number, device;
	int r = gaugeblock_stream(stream, gaugeblock_current_runtime(), &number, &device);
	if (r != 0) {
		return r;
	}
	WORDS(device, number, P(name), bytes, operations, P(code));
	return gaugeblock_do(GAUGEBLOCK_KERNEL, w);
}

int gaugeblock_mode(int exchange, int mode) {
	int before = capture_mode;
	if (exchange) {
		capture_mode = mode;
	}
	return before;
}

int gaugeblock_capture_info(uint64_t device, uint64_t number, int *status, uint64_t *id, void **graph,
	const void *const **answered, const void **edges, size_t *count) {
	if (status == NULL) {
		return INVALID_VALUE;
	}
	WORDS(device, number, 0, 0, 0, P(gaugeblock_nodes()), MAX_NODES);
	int r = gaugeblock_do(GAUGEBLOCK_CAPTURE_INFO, w);
	if (r != 0) {
		return r;
	}
	*status = (int)w[2];
	if (id != NULL) {
		*id = w[3];
	}
	if (graph != NULL) {
		*graph = (void *)w[4];
	}
	if (answered != NULL) {
		*answered = (const void *const *)gaugeblock_nodes();
	}
	if (edges != NULL) {
		*edges = NULL;
	}
	if (count != NULL) {
		*count = w[6];
	}
	return 0;
}

int gaugeblock_node_dependencies(const void *node, void **nodes, void *edges, size_t *count) {
	WORDS(P(node), P(gaugeblock_nodes()), MAX_NODES);
	int r = gaugeblock_do(GAUGEBLOCK_NODE_DEPENDENCIES, w);
	if (r != 0) {
		return r;
	}
	if (nodes != NULL) {
		size_t n = w[2] < *count ? w[2] : *count;
		memcpy(nodes, gaugeblock_nodes(), n * sizeof *nodes);
		if (edges != NULL) {
			memset(edges, 0, n * 8); // each edge is of the plain kind
		}
	}
	*count = w[2];
	return 0;
}

int gaugeblock_lacks(const char *function) {
	WORDS(P(function));
	gaugeblock_do(GAUGEBLOCK_LACKS, w);
	return NOT_SUPPORTED;
}

// The threads' own default streams, one for each device, as far as they were needed; the
// machine knows them as streams like any other. They are destroyed when the thread ends:
// what is in them stays until it is done.
static __thread uint64_t own_streams[MAX_DEVICES];
static pthread_key_t own_streams_end;
static pthread_once_t own_streams_once = PTHREAD_ONCE_INIT;

static void destroy_own_streams(void *streams) {
	for (uint64_t device = 0; device < MAX_DEVICES; device++) {
		WORDS(device, ((uint64_t *)streams)[device]);
		if (w[1] != 0) {
			gaugeblock_do(GAUGEBLOCK_STREAM_DESTROY, w);
		}
	}
}

static void make_own_streams_end(void) { pthread_key_create(&own_streams_end, destroy_own_streams); }

void gaugeblock_make_own_stream(int device, uint64_t number) {
	own_streams[device] = number;
	pthread_once(&own_streams_once, make_own_streams_end);
	pthread_setspecific(own_streams_end, own_streams);
}

static int own_stream(int device, uint64_t *number) {
	if (device < 0 || device >= MAX_DEVICES) {
		return INVALID_CONTEXT;
	}
	if (own_streams[device] == 0) {
		WORDS((uint64_t)device);
		int r = gaugeblock_do(GAUGEBLOCK_STREAM_CREATE, w);
		if (r != 0) {
			return r;
		}
		gaugeblock_make_own_stream(device, w[1]);
	}
	*number = own_streams[device];
	return 0;
}

// The two other names of default streams, cudaStreamLegacy and cudaStreamPerThread, are the
// numbers 1 and 2.
int gaugeblock_stream(const void *stream, int device, uint64_t *number, uint64_t *of) {
	*number = P(stream);
	*of = (uint64_t)device;
	if (*number == 2) {
		return own_stream(device, number);
	}
	if (*number < 2) {
		*number = 0;
		return 0;
	}
	WORDS(*number);
	int r = gaugeblock_do(GAUGEBLOCK_STREAM_DEVICE, w);
	*of = w[1];
	return r;
}

static const struct {
	int number;
	const char *runtime, *driver, *text;
} errors[] = {
	{0, "cudaSuccess", "CUDA_SUCCESS", "no error"},
	{1, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{4, "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{9, "cudaErrorInvalidConfiguration", "CUDA_ERROR_UNKNOWN", "invalid configuration argument"},
	{13, "cudaErrorInvalidSymbol", "CUDA_ERROR_UNKNOWN", "invalid device symbol"},
	{21, "cudaErrorInvalidMemcpyDirection", "CUDA_ERROR_UNKNOWN", "invalid copy direction for memcpy"},
	{101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{98, "cudaErrorInvalidDeviceFunction", "CUDA_ERROR_UNKNOWN", "invalid device function"},
	{201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{208, "cudaErrorAlreadyMapped", "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
	{209, "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
	{217, "cudaErrorPeerAccessUnsupported", "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
	{400, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{401, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
	{500, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{704, "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
	{705, "cudaErrorPeerAccessNotEnabled", "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
	{712, "cudaErrorHostMemoryAlreadyRegistered", "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
	{713, "cudaErrorHostMemoryNotRegistered", "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
	{200, "cudaErrorInvalidKernelImage", "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{218, "cudaErrorInvalidPtx", "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{301, "cudaErrorFileNotFound", "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
	{709, "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
	{719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{800, "cudaErrorNotPermitted", "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
	{801, "cudaErrorNotSupported", "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{900, "cudaErrorStreamCaptureUnsupported", "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
	{901, "cudaErrorStreamCaptureInvalidated", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
	{902, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
	{903, "cudaErrorStreamCaptureUnmatched", "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
	{904, "cudaErrorStreamCaptureUnjoined", "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
	{905, "cudaErrorStreamCaptureIsolation", "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
	{906, "cudaErrorStreamCaptureImplicit", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
	{907, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
	{908, "cudaErrorStreamCaptureWrongThread", "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
	{999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const char *gaugeblock_error_name(int error, int runtime) {
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		if (errors[i].number == error) {
			return runtime ? errors[i].runtime : errors[i].driver;
		}
	}
	return NULL;
}

const char *gaugeblock_error_text(int error) {
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
		if (errors[i].number == error) {
			return errors[i].text;
		}
	}
	return NULL;
}
