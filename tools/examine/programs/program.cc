#include <dlfcn.h>
#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <vector>

#include <cuda_runtime.h>
#include <gaugeblock_cuda.h>

static void *(*allocate_)(ssize_t, int, cudaStream_t);
static void (*free_)(void *, ssize_t, int, cudaStream_t);
static void (*record_stream_)(void *, cudaStream_t);
static void (*empty_cache_)(void), (*sleep_)(void), (*wake_)(void), (*end_)(void);
static void *(*allocate_aligned_)(ssize_t, size_t, int, cudaStream_t);
static int (*resize_)(void *, ssize_t, ssize_t, int, cudaStream_t);

struct Memory {
	char *ptr;
	size_t bytes;
	int device;
	cudaStream_t stream;
};
static std::map<long, Memory> memory;
static std::map<int, cudaStream_t> streams; // 0 is the default stream
static std::map<int, cudaEvent_t> events;

static void must(int result, const char *what) {
	if (result != 0) {
		std::printf("%s: %s\n", what, cudaGetErrorName((cudaError_t)result));
		std::exit(2);
	}
}

// on makes a device current, and a stream if it is named for the first time.
static cudaStream_t on(int device, int stream) {
	must(cudaSetDevice(device), "cudaSetDevice");
	if (stream != 0 && streams.count(stream) == 0) {
		must(cudaStreamCreateWithFlags(&streams[stream], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
	}
	return streams[stream];
}

static void allocate_aligned(long id, int device, int stream, size_t bytes, size_t align) {
	Memory m = {nullptr, bytes, device, on(device, stream)};
	try {
		m.ptr = (char *)(align == 0 ? allocate_((ssize_t)bytes, device, m.stream) : allocate_aligned_((ssize_t)bytes, align, device, m.stream));
	} catch (const std::exception &e) {
		std::printf("allocation %ld: %s\n", id, e.what());
	}
	std::printf("allocation %ld: %zu bytes on stream %d are at %p\n", id, bytes, stream, (void *)m.ptr);
	if (m.ptr == nullptr) return;
	gaugeblock_allocated(m.ptr, bytes, m.stream);
	memory[id] = m;
}

static void allocate(long id, int device, int stream, size_t bytes) { allocate_aligned(id, device, stream, bytes, 0); }

static void resize(long id, size_t bytes) {
	if (memory.count(id) == 0) return;
	Memory &m = memory[id];
	must(cudaSetDevice(m.device), "cudaSetDevice");
	gaugeblock_freed(m.ptr);
	const bool resized = resize_(m.ptr, (ssize_t)m.bytes, (ssize_t)bytes, m.device, m.stream) != 0;
	std::printf("allocation %ld: %zu bytes%s\n", id, bytes, resized ? "" : " are refused");
	if (resized) m.bytes = bytes;
	gaugeblock_allocated(m.ptr, m.bytes, m.stream);
}

static void call_sleep() { sleep_(); }
static void call_wake() { wake_(); }

static void release_on(long id, cudaStream_t stream) {
	if (memory.count(id) == 0) return;
	Memory m = memory[id];
	memory.erase(id);
	must(cudaSetDevice(m.device), "cudaSetDevice");
	gaugeblock_freed(m.ptr);
	free_(m.ptr, (ssize_t)m.bytes, m.device, stream);
}

static void release(long id) { release_on(id, memory[id].stream); }

static void free_on(long id, int device, int stream) { release_on(id, on(device, stream)); }

static void record_stream(long id, int device, int stream) {
	if (memory.count(id) != 0) record_stream_(memory[id].ptr, on(device, stream));
}

static void empty_cache() {
	if (empty_cache_ != nullptr) empty_cache_();
}

static void kernel(int device, int stream, std::vector<long> reads, std::vector<long> writes) {
	std::vector<gaugeblock_range> r, w;
	for (long id : reads) r.push_back({memory[id].ptr, memory[id].bytes});
	for (long id : writes) w.push_back({memory[id].ptr, memory[id].bytes});
	must(gaugeblock_launch(on(device, stream), "kernel", r.data(), r.size(), w.data(), w.size()), "kernel");
}

static void copy(int device, int stream, long to, long from, size_t bytes) {
	must(cudaMemcpyAsync(memory[to].ptr, memory[from].ptr, bytes, cudaMemcpyDeviceToDevice, on(device, stream)), "cudaMemcpyAsync");
}

static void record_event(int device, int stream, int event) {
	cudaStream_t s = on(device, stream);
	if (events.count(event) == 0) must(cudaEventCreateWithFlags(&events[event], cudaEventDisableTiming), "cudaEventCreateWithFlags");
	must(cudaEventRecord(events[event], s), "cudaEventRecord");
}

static void wait_event(int device, int stream, int event) {
	must(cudaStreamWaitEvent(on(device, stream), events[event], 0), "cudaStreamWaitEvent");
}

static void wait_stream(int device, int stream, int other) {
	cudaEvent_t e;
	on(device, other);
	must(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
	must(cudaEventRecord(e, streams[other]), "cudaEventRecord");
	must(cudaStreamWaitEvent(on(device, stream), e, 0), "cudaStreamWaitEvent");
	must(cudaEventDestroy(e), "cudaEventDestroy");
}

static void synchronize(int device, int stream) { must(cudaStreamSynchronize(on(device, stream)), "cudaStreamSynchronize"); }

static void destroy_stream(int device, int stream) {
	must(cudaStreamDestroy(on(device, stream)), "cudaStreamDestroy");
	streams.erase(stream);
}

static void busy(int device, int stream) { must(gaugeblock_busy(on(device, stream)), "gaugeblock_busy"); }
static void drain(int device, int stream) { must(gaugeblock_drain(on(device, stream)), "gaugeblock_drain"); }
static void device_free(int device, size_t bytes) { must(gaugeblock_set_free(device, bytes), "gaugeblock_set_free"); }
static void fault(const char *call, int nth, const char *error) { must(gaugeblock_fault(call, nth, error), "gaugeblock_fault"); }

static void program() {
PROGRAM
	(void)release, (void)free_on, (void)record_stream, (void)empty_cache, (void)kernel, (void)copy, (void)record_event, (void)wait_event;
	(void)wait_stream, (void)synchronize, (void)destroy_stream, (void)busy, (void)drain, (void)device_free, (void)fault, (void)allocate;
	(void)allocate_aligned, (void)resize, (void)call_sleep, (void)call_wake;
}

int main(int argc, char **argv) {
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
	if (library == nullptr) {
		std::printf("usage: %s LIBRARY (%s)\n", argv[0], argc == 2 ? dlerror() : "which is to be examined");
		return 2;
	}
	allocate_ = (decltype(allocate_))dlsym(library, "MALLOC");
	free_ = (decltype(free_))dlsym(library, "FREE");
	record_stream_ = (decltype(record_stream_))dlsym(library, "RECORD_STREAM");
	empty_cache_ = (decltype(empty_cache_))dlsym(library, "EMPTY_CACHE");
	allocate_aligned_ = (decltype(allocate_aligned_))dlsym(library, "MALLOC_ALIGNED");
	resize_ = (decltype(resize_))dlsym(library, "RESIZE");
	sleep_ = (decltype(sleep_))dlsym(library, "SLEEP");
	wake_ = (decltype(wake_))dlsym(library, "WAKE");
	end_ = (decltype(end_))dlsym(library, "END");
	auto init = (void (*)(int))dlsym(library, "INIT");
	if (init != nullptr) init(DEVICES);
	program();
	if (end_ != nullptr) end_();
	char text[1000];
	for (int i = 0; i < gaugeblock_hazards(); i++) {
		gaugeblock_hazard(i, text, sizeof text);
		std::printf("hazard: %s\n", text);
	}
	return gaugeblock_hazards() == 0 ? 0 : 1;
}
