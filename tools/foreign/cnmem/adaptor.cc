// cnmem with PyTorch's pluggable ABI. Its manager has a stream's blocks on a list of their own;
// what a list has too little of it takes from the device's list, or from another stream's
// after waiting for that stream. Its callers have no record_stream: they make the
// allocation's stream wait for all others before they free.
//
// A device begins with CNMEM_BYTES, of which the stream of the first request gets
// CNMEM_STREAM_BYTES.
#include <cnmem.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sys/types.h>

namespace {
std::mutex mutex;
auto &streams = *new std::map<int, std::set<cudaStream_t>>;

size_t number(const char *variable, size_t otherwise) {
	const char *text = std::getenv(variable);
	return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void must(cnmemStatus_t status, const char *what) {
	if (status == CNMEM_STATUS_SUCCESS) return;
	std::fprintf(stderr, "cnmem: %s: %s\n", what, cnmemGetErrorString(status));
	std::abort();
}

void announce(int device, cudaStream_t stream) {
	if (streams.empty()) {
		int count = 0;
		cudaGetDeviceCount(&count);
		auto *devices = new cnmemDevice_t[count]();
		size_t bytes = number("CNMEM_STREAM_BYTES", 1000000);
		for (int d = 0; d < count; d++) {
			devices[d].device = d;
			devices[d].size = number("CNMEM_BYTES", 8 << 20);
			if (d == device && stream != nullptr) {
				devices[d].numStreams = 1;
				devices[d].streams = &stream;
				devices[d].streamSizes = &bytes;
			}
		}
		must(cnmemInit(count, devices, CNMEM_FLAGS_DEFAULT), "cnmemInit");
		streams[device].insert(stream);
		delete[] devices;
	}
	if (stream != nullptr && streams[device].insert(stream).second) must(cnmemRegisterStream(stream), "cnmemRegisterStream");
}
} // namespace

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> lock(mutex);
	cudaSetDevice(device);
	announce(device, stream);
	void *p = nullptr;
	return cnmemMalloc(&p, bytes, stream) == CNMEM_STATUS_SUCCESS ? p : nullptr;
}

extern "C" void my_free(void *p, ssize_t, int device, cudaStream_t stream) {
	cudaSetDevice(device);
	must(cnmemFree(p, stream), "cnmemFree");
}

// Functions that cnmem names and that the fake GPU's libraries do not have. Its streams are
// asked whether they wait for the legacy default stream: here none does.
extern "C" {
#define ABSENT __attribute__((weak, visibility("hidden")))
ABSENT cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned *flags) { return *flags = cudaStreamNonBlocking, cudaSuccess; }
ABSENT cudaError_t cudaMallocManaged(void **, size_t, unsigned) { return cudaErrorNotSupported; }
ABSENT cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) { return cudaErrorNotSupported; }
}
