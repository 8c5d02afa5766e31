//- always
RELEASE
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <gaugeblock_cuda.h> // what only the fake GPU has

#include <cstdio>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace {

using List = std::vector<long>;
struct Memory { void *ptr; size_t bytes; int device, stream; void (*deleter)(void *); };
std::map<long, Memory> memory; // what is allocated, by number
std::map<int, cudaStream_t> streams;
long operation;
int thread; // of the request that is under way
const bool watch = WATCH;

using anytorch::allocator;
using anytorch::MempoolId_t;

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
		c10::cuda::setCurrentCUDAStream(streamOf(device, 0));
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

//- current
void current(int device, int number) { c10::cuda::setCurrentCUDAStream(streamOf(device, number)); }

//- record_stream
void record_stream(long id, int device, int number) {
	attempt("record_stream", [&] {
		auto found = memory.find(id);
		if (found == memory.end() || found->second.ptr == nullptr || found->second.deleter != allocator()->raw_deleter()) return;
		c10::DataPtr data(found->second.ptr, found->second.ptr, found->second.deleter, c10::Device(c10::kCUDA, 0));
		try {
			allocator()->recordStream(data, streamOf(device, number));
		} catch (...) {
			data.release_context();
			throw;
		}
		data.release_context();
	});
}

//- empty_cache
void empty_cache(MempoolId_t pool) {
	attempt("empty_cache", [&] { allocator()->emptyCache(pool); });
}

//- set_memory_fraction
void set_memory_fraction(int device, double fraction) {
	attempt("set_memory_fraction", [&] { allocator()->setMemoryFraction(fraction, (c10::DeviceIndex)device); });
}

//- configure
void configure(const char *settings) {
	attempt("configure", [&] { anytorch::setAllocatorSettings(settings); });
}

//- reset_peak_stats
void reset_peak_stats(int device) {
	attempt("reset_peak_stats", [&] { allocator()->resetPeakStats((c10::DeviceIndex)device); });
}

//- reset_accumulated_stats
void reset_accumulated_stats(int device) {
	attempt("reset_accumulated_stats", [&] { allocator()->resetAccumulatedStats((c10::DeviceIndex)device); });
}

//- enable
void enable(bool on) {
	attempt("enable", [&] { allocator()->enable(on); });
}

//- need_memory_callback
std::vector<List> lent; // what is freed when memory runs short

class Lend : public c10::FreeMemoryCallback {
	bool Execute() override {
		bool freed = false;
		for (const List &list : std::exchange(lent, {})) {
			for (long id : list) {
				auto found = memory.find(id);
				if (found == memory.end()) continue;
				ends(found->second);
				found->second.deleter(found->second.ptr);
				memory.erase(found);
				freed = true;
			}
		}
		return freed;
	}
};

void need_memory_callback(const List &frees) {
	operation++;
	lent.push_back(frees);
}

//- pool_create
void pool_create(int device, MempoolId_t pool, bool use_on_oom, bool no_split) {
	attempt("pool_create", [&] {
		allocator()->createOrIncrefPool((c10::DeviceIndex)device, pool);
		if (use_on_oom) anytorch::setUseOnOOM((c10::DeviceIndex)device, pool, true);
		if (no_split) anytorch::setNoSplit((c10::DeviceIndex)device, pool);
	});
}

//- pool_begin
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

void pool_begin(int device, MempoolId_t pool, const Filter &filter) {
	attempt("pool_begin", [&] { allocator()->beginAllocateToPool((c10::DeviceIndex)device, pool, filter); });
}

//- pool_end
void pool_end(int device, MempoolId_t pool) {
	attempt("pool_end", [&] { allocator()->endAllocateToPool((c10::DeviceIndex)device, pool); });
}

//- pool_release
void pool_release(int device, MempoolId_t pool) {
	attempt("pool_release", [&] { allocator()->releasePool((c10::DeviceIndex)device, pool); });
}

//- pool_delete
void pool_delete(int device, MempoolId_t pool) {
	attempt("pool_delete", [&] {
		allocator()->releasePool((c10::DeviceIndex)device, pool);
		allocator()->emptyCache(pool);
	});
}

//- checkpoint
struct State { std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState> pool; std::map<long, Memory> memory; };
std::map<int, State> states;

void checkpoint(int device, MempoolId_t pool, int number) {
	attempt("checkpoint", [&] { states[number] = {allocator()->getCheckpointState((c10::DeviceIndex)device, pool), memory}; });
}

//- restore
void restore(int device, int number, const List &live, const List &freed) {
	attempt("restore", [&] {
		if (states.count(number) == 0) return;
		State &s = states[number];
		auto delta = allocator()->setCheckpointPoolState((c10::DeviceIndex)device, s.pool);
		for (auto &data : delta.dataptrs_allocd) data.release_context();
		for (long id : freed) {
			ends(memory.at(id));
			memory.erase(id);
		}
		for (long id : live) {
			if (memory.count(id) == 0) begins(s.memory.at(id));
			memory[id] = s.memory.at(id);
		}
	});
}

//- kernel
void kernel(int device, int number, const List &reads, const List &writes) {
	operation++;
	std::vector<gaugeblock_range> ranges[2];
	for (int i : {0, 1}) {
		for (long id : i == 0 ? reads : writes) {
			auto found = memory.find(id);
			if (found == memory.end()) return;
			if (found->second.bytes > 0) ranges[i].push_back({found->second.ptr, found->second.bytes});
		}
	}
	const cudaStream_t s = stream(device, number);
	On on(device);
	cuda(gaugeblock_launch(s, "kernel", ranges[0].data(), ranges[0].size(), ranges[1].data(), ranges[1].size()));
}

//- copy
void copy(int device, int number, long to, long from, size_t bytes) {
	operation++;
	auto dst = memory.find(to), src = memory.find(from);
	if (dst == memory.end() || src == memory.end()) return;
	const cudaStream_t s = stream(device, number);
	On on(device);
	if (dst->second.device == src->second.device) {
		cuda(cudaMemcpyAsync(dst->second.ptr, src->second.ptr, bytes, cudaMemcpyDeviceToDevice, s));
	} else {
		cuda(cudaMemcpyPeerAsync(dst->second.ptr, dst->second.device, src->second.ptr, src->second.device, bytes, s));
	}
}

//- wait_stream
void wait_stream(int device, int number, int waited_for) {
	operation++;
	const cudaStream_t s = stream(device, number), o = stream(device, waited_for);
	On on(device);
	cudaEvent_t event;
	cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	cuda(cudaEventRecord(event, o));
	cuda(cudaStreamWaitEvent(s, event, 0));
	cuda(cudaEventDestroy(event));
}

//- record_event
struct Event { cudaEvent_t event; int device; };
std::map<int, Event> events;

void record_event(int device, int number, int event) {
	operation++;
	const cudaStream_t s = stream(device, number);
	On on(device);
	auto found = events.find(event);
	if (found != events.end() && found->second.device != device) {
		cuda(cudaEventDestroy(found->second.event));
		events.erase(found);
	}
	if (events.count(event) == 0) {
		events[event].device = device;
		cuda(cudaEventCreateWithFlags(&events[event].event, cudaEventDisableTiming));
	}
	cuda(cudaEventRecord(events[event].event, s));
}

//- wait_event
void wait_event(int device, int number, int event) {
	operation++;
	const cudaStream_t s = stream(device, number);
	On on(device);
	if (events.count(event) != 0) cuda(cudaStreamWaitEvent(s, events[event].event, 0));
}

//- synchronize
void synchronize(int device, int number) {
	operation++;
	const cudaStream_t s = stream(device, number);
	On on(device);
	cuda(cudaStreamSynchronize(s));
}

//- busy
void busy(int device, int number) { // what the stream is given from here on waits for drain
	operation++;
	const cudaStream_t s = stream(device, number);
	On on(device);
	cuda(gaugeblock_busy(s));
}

//- drain
void drain(int device, int number) {
	operation++;
	const cudaStream_t s = stream(device, number);
	On on(device);
	cuda(gaugeblock_drain(s));
}

//- device_free
void device_free(int device, size_t bytes) { // other programs leave so much
	operation++;
	cuda(gaugeblock_set_free(device, bytes));
}

//- peer_access
void peer_access(int device, int peer) {
	attempt("peer_access", [&] { allocator()->enablePeerAccess((c10::DeviceIndex)device, (c10::DeviceIndex)peer); });
}

//- capture_begin
void capture_begin(int device, int number, cudaStreamCaptureMode mode) {
	operation++;
	const cudaStream_t s = stream(device, number);
	On on(device);
	const int error = cudaStreamBeginCapture(s, mode);
	cuda(error);
	if (error == 0) anytorch::markCapture((c10::DeviceIndex)device, true);
}

//- capture_end
struct Graph { cudaGraph_t graph; cudaGraphExec_t exec; };
std::map<int, Graph> graphs;

void capture_end(int device, int number, int graph) {
	operation++;
	On on(device);
	Graph g{};
	const int error = cudaStreamEndCapture(stream(device, number), &g.graph);
	cuda(error);
	anytorch::markCapture((c10::DeviceIndex)device, false);
	if (error != 0) return;
	cuda(cudaGraphInstantiate(&g.exec, g.graph, 0));
	graphs[graph] = g;
}

//- graph_launch
void graph_launch(int device, int number, int graph) {
	operation++;
	const cudaStream_t s = stream(device, number);
	On on(device);
	if (graphs.count(graph) != 0) cuda(cudaGraphLaunch(graphs[graph].exec, s));
}

//- graph_destroy
void graph_destroy(int graph) {
	operation++;
	auto found = graphs.find(graph);
	if (found == graphs.end()) return;
	cuda(cudaGraphExecDestroy(found->second.exec));
	cuda(cudaGraphDestroy(found->second.graph));
	graphs.erase(found);
}

//- end
} // namespace

//- callback
namespace c10 {
REGISTER_FREE_MEMORY_CALLBACK("program", Lend)
}

//- main
int main() {
	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	anytorch::start(SETTINGS, DEVICES);
	for (int device = 0; device < DEVICES; device++) allocator()->setMemoryFraction(1.0, (c10::DeviceIndex)device);
	(void)cudaSetDevice(0);
PROGRAM
	for (int i = 0; watch && i < gaugeblock_hazards(); i++) {
		char text[2000];
		(void)gaugeblock_hazard(i, text, sizeof text);
		std::printf("hazard: %s\n", text);
	}
	return 0;
}
