// operation 18, malloc 512 bytes on stream 0 as id 19: layout: the reference has large expandable segment 0x10200006c000000 of 20971520 bytes (20.00 MiB), stream 0x500000001000, allocated 0, active 0, requested 0, pool (0, 1), PyTorch large expandable segment 0x10200006c000000 of 20971520 bytes (20.00 MiB), stream 0x500000001000, allocated 0, active 0, requested 0
//
// Compiled with TORCH, the directory of PyTorch's package, and FAKE, that of "make fake-cuda":
// c++ -std=c++17 THIS.cc -I$TORCH/include -I$FAKE/include -L$TORCH/lib -lc10_cuda -lc10 -L$FAKE -lcudart -lcuda -o program
// LD_LIBRARY_PATH=$FAKE:$TORCH/lib GAUGEBLOCK_CUDA_DEVICES=1 GAUGEBLOCK_CUDA_MEMORY=536870912 GAUGEBLOCK_CUDA_ADDRESSES=ascending GAUGEBLOCK_CUDA_HAZARDS=owners GAUGEBLOCK_CUDA_WAITS=drain ./program
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <gaugeblock_cuda.h> // what only the fake GPU has

#include <cstdio>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*)(DeviceIndex));
}

namespace {

using List = std::vector<long>;
struct Memory { void *ptr; size_t bytes; int device, stream; void (*deleter)(void *); };
std::map<long, Memory> memory; // what is allocated, by number
std::map<int, cudaStream_t> streams;
long operation;
int thread; // of the request that is under way
const bool watch = true;

c10::cuda::CUDACachingAllocator::CUDAAllocator *allocator() { return c10::cuda::CUDACachingAllocator::get(); }

struct On { // a device is current for a while
	int before;
	explicit On(int device) { (void)cudaGetDevice(&before); (void)cudaSetDevice(device); }
	~On() { (void)cudaSetDevice(before); }
};

cudaStream_t stream(int device, int number) {
	On on(device);
	if (number != 0 && streams.count(number) == 0) (void)cudaStreamCreateWithFlags(&streams[number], cudaStreamNonBlocking);
	return number == 0 ? nullptr : streams[number];
}

c10::cuda::CUDAStream streamOf(int device, int number) {
	return number == 0 ? c10::cuda::getDefaultCUDAStream((c10::DeviceIndex)device)
		: c10::cuda::getStreamFromExternal(stream(device, number), (c10::DeviceIndex)device);
}

void attempt(const char *what, const std::function<void()> &f) {
	operation++;
	try {
		f();
	} catch (const c10::Error &e) {
		std::printf("%ld %s: %s\n", operation, what, e.what_without_backtrace());
	}
	(void)cudaGetLastError();
}

void cuda(int error) {
	if (error != 0) std::printf("%ld CUDA: error %d\n", operation, error);
}

void begins(const Memory &m) {
	On on(m.device);
	if (watch && m.ptr != nullptr) (void)gaugeblock_allocated(m.ptr, m.bytes, stream(m.device, m.stream));
}

void ends(const Memory &m) {
	if (watch) (void)gaugeblock_freed(m.ptr);
}

void allocate(long id, int device, int number, size_t bytes, int by = 0) {
	attempt("malloc", [&] {
		const auto on = streamOf(device, number);
		thread = by;
		(void)cudaSetDevice(device);
		c10::cuda::setCurrentCUDAStream(on);
		Memory m{nullptr, bytes, device, number, allocator()->raw_deleter()};
		if (allocator()->isEnabled() && bytes < 1152921504606846976) {
			m.ptr = allocator()->raw_alloc_with_stream(bytes, on.stream());
		} else {
			c10::DataPtr data = allocator()->allocate(bytes);
			m.deleter = data.get_deleter();
			m.ptr = data.release_context();
		}
		std::printf("%ld malloc: %p\n", operation, m.ptr);
		memory[id] = m;
		begins(m);
	});
}

void release(long id) {
	attempt("free", [&] {
		auto found = memory.find(id);
		if (found == memory.end()) return;
		const Memory m = found->second;
		ends(m);
		if (m.ptr != nullptr) m.deleter(m.ptr);
		memory.erase(id);
	});
}

#ifdef GAUGEBLOCK_CUDA_DECLARES
extern "C" cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus *, unsigned long long *, cudaGraph_t * = nullptr,
	const cudaGraphNode_t ** = nullptr, const cudaGraphEdgeData ** = nullptr, size_t * = nullptr);
#endif

using Filter = std::function<bool(cudaStream_t)>;

Filter for_thread(int of) { return [of](cudaStream_t) { return thread == of; }; }

Filter for_stream(int device, int number) {
	const cudaStream_t of = stream(device, number);
	return [of](cudaStream_t s) { return s == of; };
}

unsigned long long captureOf(cudaStream_t s) {
	cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	unsigned long long id = 0;
	(void)cudaStreamGetCaptureInfo(s, &status, &id);
	return status == cudaStreamCaptureStatusNone ? 0 : id;
}

Filter for_capture(int device, int number) {
	const auto of = captureOf(stream(device, number));
	return [of](cudaStream_t s) { return of != 0 && captureOf(s) == of; };
}

void pool_begin(int device, c10::MempoolId_t pool, const Filter &filter) {
	attempt("pool_begin", [&] { allocator()->beginAllocateToPool((c10::DeviceIndex)device, pool, filter); });
}

void pool_end(int device, c10::MempoolId_t pool) {
	attempt("pool_end", [&] { allocator()->endAllocateToPool((c10::DeviceIndex)device, pool); });
}

void pool_delete(int device, c10::MempoolId_t pool) {
	attempt("pool_delete", [&] {
		allocator()->releasePool((c10::DeviceIndex)device, pool);
		allocator()->emptyCache(pool);
	});
}

} // namespace

int main() {
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
	c10::CachingAllocator::setAllocatorSettings("expandable_segments:True");
	allocator()->init(1);
	for (int device = 0; device < 1; device++) allocator()->setMemoryFraction(1.0, (c10::DeviceIndex)device);
	(void)cudaSetDevice(0);
	allocate(0, 0, 1, 512);
	pool_begin(0, {0, 1}, for_stream(0, 3));
	allocate(1, 0, 2, 33);
	release(1);
	allocate(3, 0, 1, 512);
	allocate(5, 0, 0, 512);
	allocate(6, 0, 1, 512);
	allocate(7, 0, 3, 31457280);
	release(7);
	allocate(9, 0, 3, 2097152);
	pool_end(0, {0, 1});
	pool_delete(0, {0, 1});
	allocate(10, 0, 3, 512);
	allocate(13, 0, 1, 512);
	release(9);
	allocate(16, 0, 1, 512);
	allocate(18, 0, 1, 512);
	allocate(19, 0, 0, 512);
	for (int i = 0; watch && i < gaugeblock_hazards(); i++) {
		char text[2000];
		(void)gaugeblock_hazard(i, text, sizeof text);
		std::printf("hazard: %s\n", text);
	}
	return 0;
}
