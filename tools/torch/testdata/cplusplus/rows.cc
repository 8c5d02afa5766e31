// Deviations that need more than one thread, or entry points that spec.Allocator
// does not have. The argument names one; what PyTorch's allocator does is printed. cplusplus_rows_test.go
// says what each shows, with what is printed.
#include "release.h"

#include <c10/cuda/CUDAStream.h>
#include <c10/util/Logging.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

using anytorch::allocator;
constexpr size_t MiB = 1 << 20;

// attempt makes a call and says how it ended, to its first full stop or the place in PyTorch's source.
void attempt(const char *what, const std::function<void()> &call) {
	std::string text = "done";
	try {
		call();
	} catch (const c10::Error &e) {
		text = e.what_without_backtrace();
	} catch (const std::exception &e) {
		text = e.what();
	}
	text = text.substr(0, text.find_first_of(".\n"));
	std::printf("%s: %s\n", what, text.substr(0, text.find(" at \"")).c_str());
	std::fflush(stdout);
}

// alone makes a call in a thread of its own.
void alone(const std::function<void()> &call) { std::thread(call).join(); }

// What happens at moments at which another thread could come in between. Each happens once.
std::function<void()> during;              // in the next cudaMalloc, before memory is there
std::function<void()> gathering;           // when a context is gathered, which a free does before it locks the mutex
thread_local std::function<void()> locking; // before this thread locks a mutex

void happens(std::function<void()> &what) {
	const auto now = std::move(what);
	what = nullptr;
	now();
}

std::shared_ptr<c10::GatheredContext> gather() {
	if (gathering) happens(gathering);
	return nullptr;
}

std::function<bool()> needMemory;         // a free-memory callback
std::vector<std::string> asked;           // callbacks, in the order in which they were called

bool called(const char *name) {
	asked.push_back(name);
	return needMemory && std::strcmp(name, "first") == 0 && needMemory();
}

struct First : c10::FreeMemoryCallback { bool Execute() override { return called("first"); } };
struct Second : c10::FreeMemoryCallback { bool Execute() override { return called("second"); } };
struct Third : c10::FreeMemoryCallback { bool Execute() override { return called("third"); } };

size_t reserved() { return (size_t)allocator()->getDeviceStats(0).reserved_bytes[0].current; }

// Callbacks are registered as first, second and third.
void callbackOrder() {
	attempt("a request larger than the device", [] { allocator()->raw_alloc(200 * MiB); });
	for (const auto &name : asked) std::printf("%s\n", name.c_str());
}

// A callback waits for a thread that allocates.
void callbackThread() {
	std::future<void> other;
	needMemory = [&] {
		if (other.valid()) return false; // callbacks are called twice
		std::promise<void> *done = new std::promise<void>;
		other = done->get_future();
		std::thread([done] { allocator()->raw_alloc(512); done->set_value(); }).detach();
		const bool returned = other.wait_for(std::chrono::milliseconds(500)) == std::future_status::ready;
		std::printf("the other thread's request returns during the callback: %s\n", returned ? "yes" : "no");
		return false;
	};
	attempt("a request larger than the device", [] { allocator()->raw_alloc(200 * MiB); });
	other.wait();
	std::printf("the other thread's request returns afterwards\n");
}

void noFilter() {
	allocator()->beginAllocateToPool(0, {0, 1}, nullptr);
	attempt("a request", [] { allocator()->raw_alloc(512); });
}

// In one entry point a size of 2^64 - 1 is refused, in another one it is rounded to 0.
void rawSizes() {
	attempt("allocate", [] { allocator()->allocate(SIZE_MAX); });
	void *p = nullptr, *q = nullptr;
	attempt("raw_alloc", [&] { p = allocator()->raw_alloc(SIZE_MAX); });
	attempt("raw_alloc of 512 bytes", [&] { q = allocator()->raw_alloc(512); });
	std::printf("the two have one address: %s; allocated %ld bytes\n", p == q ? "yes" : "no",
		(long)allocator()->getDeviceStats(0).allocated_bytes[0].current);
}

// Memory of the cache is freed when caching is off.
void rawToggle() {
	void *p = allocator()->raw_alloc(MiB);
	size_t before = 0, after = 0, total = 0;
	(void)cudaMemGetInfo(&before, &total);
	allocator()->enable(false);
	attempt("raw_delete of a block of the cache", [&] { allocator()->raw_delete(p); });
	(void)cudaMemGetInfo(&after, &total);
	std::printf("the device got back %zu bytes; reserved are %zu, as before\n", after - before, reserved());
}

// Two requests are each within the limit, and at the same time both in cudaMalloc.
void limit() {
	anytorch::setAllocatorSettings("release_lock_on_cudamalloc:True");
	allocator()->setMemoryFraction(0.5, 0);
	during = [] { alone([] { attempt("a request of 30 MiB meanwhile", [] { allocator()->raw_alloc(30 * MiB); }); }); };
	attempt("a request of 30 MiB, of 50 MiB that are allowed", [] { allocator()->raw_alloc(30 * MiB); });
	std::printf("reserved: %zu MiB\n", reserved() / MiB);
	attempt("one more", [] { allocator()->raw_alloc(2 * MiB); });
}

// A pool is given up and erased while a request for it is in cudaMalloc. Memory that is freed is
// filled with something else (MALLOC_PERTURB_), and so is the pool.
void poolGone() {
	anytorch::setAllocatorSettings("release_lock_on_cudamalloc:True");
	const anytorch::MempoolId_t pool{0, 1};
	allocator()->createOrIncrefPool(0, pool);
	allocator()->beginAllocateToPool(0, pool, [](cudaStream_t) { return true; });
	during = [=] {
		alone([=] {
			allocator()->endAllocateToPool(0, pool);
			allocator()->releasePool(0, pool);
			allocator()->releasePool(0, pool);
			allocator()->emptyCache();
			std::printf("the pool is given up, and the cache emptied\n");
			std::fflush(stdout);
		});
	};
	attempt("a request", [] { allocator()->raw_alloc(30 * MiB); });
}

// The entries of a free have what the freeing thread has said.
void freeingThread() {
	anytorch::recordHistory(true, nullptr, 100, anytorch::RecordContext::NEVER, true, {});
	std::string mine = "allocating", other = "freeing";
	allocator()->pushCompileContext(mine);
	void *p = allocator()->raw_alloc(512);
	alone([&] {
		allocator()->pushCompileContext(other);
		allocator()->raw_delete(p);
	});
	const char *names[] = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot", "oom"};
	const auto now = anytorch::snapshot({0, 0}, true);
	for (const auto &e : now.device_traces.at(0)) {
		if (e.action_ <= 2) std::printf("%s: %s\n", names[e.action_], e.compile_context_.c_str());
	}
}

// A free has taken its pointer from the table and has not locked the mutex yet. Another thread then
// saves the pool and restores it, so that the memory is the program's again.
void freeRestore(size_t bytes) {
	anytorch::recordHistory(true, gather, 100, anytorch::RecordContext::ALL, true, {});
	const anytorch::MempoolId_t pool{0, 1};
	const auto every = [](cudaStream_t) { return true; };
	allocator()->createOrIncrefPool(0, pool);
	allocator()->beginAllocateToPool(0, pool, every);
	void *p = allocator()->raw_alloc(bytes);
	gathering = [=] {
		alone([=] {
			allocator()->endAllocateToPool(0, pool);
			auto delta = allocator()->setCheckpointPoolState(0, allocator()->getCheckpointState(0, pool));
			for (auto &restored : delta.dataptrs_allocd) {
				std::printf("the restore gives back the memory that is being freed: %s\n", restored.release_context() == p ? "yes" : "no");
			}
		});
	};
	attempt("the free", [=] { allocator()->raw_delete(p); });
	std::printf("allocated: %zu bytes\n", (size_t)allocator()->getDeviceStats(0).allocated_bytes[0].current);
	allocator()->beginAllocateToPool(0, pool, every);
	attempt("a request", [=] { std::printf("it gets the same memory: %s\n", allocator()->raw_alloc(bytes) == p ? "yes" : "no"); });
}
void freeRestoreWhole() { freeRestore(30 * MiB); }
void freeRestorePart() { freeRestore(MiB); }

// A request makes the device run out of memory. It has then to release all that is cached; with
// max_split_size_mb, as much as it needs of blocks of that size.
void settingsMeanwhile() {
	const auto request = [](const char *what, const std::function<void()> &change) {
		std::vector<void *> cached;
		for (const size_t bytes : {40 * MiB, 40 * MiB, size_t{512}}) cached.push_back(allocator()->raw_alloc(bytes));
		for (void *p : cached) allocator()->raw_delete(p);
		during = change;
		void *p = nullptr;
		attempt(what, [&] { p = allocator()->raw_alloc(70 * MiB); });
		std::printf("reserved: %zu MiB\n", reserved() / MiB);
		allocator()->raw_delete(p);
		allocator()->emptyCache({0, 0});
	};
	request("a request", nullptr);
	request("one in which cudaMalloc has been asked when the setting changes", [] {
		alone([] { attempt("max_split_size_mb:21 meanwhile", [] { anytorch::setAllocatorSettings("max_split_size_mb:21"); }); });
	});
}

#if TORCH_VERSION_MINOR >= 11
// The number is accepted. What uses it, outside this library, multiplies it into bytes.
void pinnedReserve() {
	attempt("2^44 + 1 MiB", [] { anytorch::setAllocatorSettings("pinned_reserve_segment_size_mb:17592186044417"); });
	std::printf("in bytes: %zu\n", c10::cuda::CUDACachingAllocator::CUDAAllocatorConfig::pinned_reserve_segment_size_mb() * MiB);
}
#endif

// The last user of another process's memory has gone and is about to close it. Another thread opens it.
void openDuringClose() {
	const std::string handle = allocator()->shareIpcHandle(allocator()->raw_alloc(2 * MiB)).handle;
	auto user = allocator()->getIpcDevPtr(handle);
	std::shared_ptr<void> other;
	locking = [&] { alone([&] { attempt("another thread opens it", [&] { other = allocator()->getIpcDevPtr(handle); }); }); };
	user.reset();
	std::printf("the first user is gone\n");
}

// A tracker throws when memory is allocated.
void throwingTracker() {
	allocator()->attachAllocatorTraceTracker([](const anytorch::TraceEntry &e) {
		if (e.action_ == anytorch::TraceEntry::ALLOC) throw std::runtime_error("the tracker throws");
	});
	attempt("a request", [] { allocator()->raw_alloc(2 * MiB); });
	const auto now = anytorch::snapshot({0, 0}, false);
	const auto figures = allocator()->getDeviceStats(0);
	std::printf("reserved: %zu MiB, allocated: %zu bytes, %zu segments in the snapshot\n", reserved() / MiB,
		(size_t)figures.allocated_bytes[0].current, now.segments.size());
	attempt("emptying the cache", [] { allocator()->emptyCache({0, 0}); });
	std::printf("reserved: %zu MiB\n", reserved() / MiB);
}

void nullObserver() {
	allocator()->attachOutOfMemoryObserver(nullptr);
	attempt("a request larger than the device", [] { allocator()->raw_alloc(200 * MiB); });
}

#if TORCH_VERSION_MINOR >= 11
// A pool's own allocator, of which only the first two functions are called.
struct Own : CUDAAllocator {
	void *const memory;
	explicit Own(void *at) : memory(at) {}
	void *raw_alloc(size_t) override { return memory; }
	void raw_delete(void *) override {}

	void *raw_alloc_with_stream(size_t, cudaStream_t) override { std::abort(); }
	c10::DataPtr allocate(size_t) override { std::abort(); }
	void copy_data(void *, const void *, size_t) const override { std::abort(); }
	bool initialized() override { std::abort(); }
	void init(int) override { std::abort(); }
	double getMemoryFraction(c10::DeviceIndex) override { std::abort(); }
	void setMemoryFraction(double, c10::DeviceIndex) override { std::abort(); }
	std::vector<c10::cuda::CUDACachingAllocator::StreamSegmentSize> getExpandableSegmentSizes(c10::DeviceIndex) override { std::abort(); }
	void enable(bool) override { std::abort(); }
	bool isEnabled() const override { std::abort(); }
	void cacheInfo(c10::DeviceIndex, size_t *) override { std::abort(); }
	void *getBaseAllocation(void *, size_t *) override { std::abort(); }
	void emptyCache(anytorch::MempoolId_t) override { std::abort(); }
	void recordStream(const c10::DataPtr &, c10::Stream) override { std::abort(); }
	void recordStream(const c10::DataPtr &, c10::cuda::CUDAStream) override { std::abort(); }
	c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { std::abort(); }
	void resetAccumulatedStats(c10::DeviceIndex) override { std::abort(); }
	void resetPeakStats(c10::DeviceIndex) override { std::abort(); }
	c10::cuda::CUDACachingAllocator::SnapshotInfo snapshot(anytorch::MempoolId_t, bool) override { std::abort(); }
	void beginAllocateToPool(c10::DeviceIndex, anytorch::MempoolId_t, std::function<bool(cudaStream_t)>) override { std::abort(); }
	void endAllocateToPool(c10::DeviceIndex, anytorch::MempoolId_t) override { std::abort(); }
	void releasePool(c10::DeviceIndex, anytorch::MempoolId_t) override { std::abort(); }
	c10::cuda::CUDACachingAllocator::ShareableHandle shareIpcHandle(void *) override { std::abort(); }
	std::shared_ptr<void> getIpcDevPtr(std::string) override { std::abort(); }
	void recordHistory(bool, c10::CachingDeviceAllocator::CreateContextFn, size_t, anytorch::RecordContext, bool,
		const std::vector<std::string> &) override { std::abort(); }
	void attachOutOfMemoryObserver(c10::cuda::CUDACachingAllocator::OutOfMemoryObserver) override { std::abort(); }
	void attachAllocatorTraceTracker(c10::cuda::CUDACachingAllocator::AllocatorTraceTracker) override { std::abort(); }
#if TORCH_VERSION_MINOR >= 12
	void attachOomRejectionObserver(c10::cuda::CUDACachingAllocator::OomRejectionObserver) override { std::abort(); }
#endif
	void enablePeerAccess(c10::DeviceIndex, c10::DeviceIndex) override { std::abort(); }
	cudaError_t memcpyAsync(void *, int, const void *, int, size_t, cudaStream_t, bool) override { std::abort(); }
	std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState> getCheckpointState(c10::DeviceIndex, anytorch::MempoolId_t) override { std::abort(); }
	c10::cuda::CUDACachingAllocator::CheckpointDelta setCheckpointPoolState(c10::DeviceIndex,
		std::shared_ptr<c10::cuda::CUDACachingAllocator::AllocatorState>) override { std::abort(); }
	std::string name() override { std::abort(); }
};

// The memory that a pool's own allocator returns is in use.
void oddMemory() {
	void *p = allocator()->raw_alloc(30 * MiB);
	const anytorch::MempoolId_t pool{0, 1};
	allocator()->createOrIncrefPool(0, pool, std::make_shared<Own>((char *)p + 1));
	allocator()->beginAllocateToPool(0, pool, [](cudaStream_t) { return true; });
	attempt("a request of 30 MiB", [=] {
		std::printf("its memory lies in that of another: %s\n", (char *)allocator()->raw_alloc(30 * MiB) == (char *)p + 1 ? "yes" : "no");
	});
}
#endif

const struct { const char *name; void (*show)(); } rows[] = {
	{"free_restore", freeRestoreWhole}, {"free_restore_part", freeRestorePart}, {"settings_meanwhile", settingsMeanwhile},
#if TORCH_VERSION_MINOR >= 11
	{"pinned_reserve", pinnedReserve}, {"odd_memory", oddMemory},
#endif
	{"open_during_close", openDuringClose}, {"throwing_tracker", throwingTracker}, {"null_observer", nullObserver},
	{"callback_order", callbackOrder}, {"callback_thread", callbackThread}, {"no_filter", noFilter}, {"raw_sizes", rawSizes},
	{"raw_toggle", rawToggle}, {"limit", limit}, {"pool_gone", poolGone}, {"freeing_thread", freeingThread},
};

} // namespace

namespace c10 {
REGISTER_FREE_MEMORY_CALLBACK("first", First)
REGISTER_FREE_MEMORY_CALLBACK("second", Second)
REGISTER_FREE_MEMORY_CALLBACK("third", Third)
}

// PyTorch's allocator finds this function before that of the library.
extern "C" __attribute__((visibility("default"))) cudaError_t cudaMalloc(void **p, size_t bytes) {
	static const auto real = (cudaError_t (*)(void **, size_t))dlsym(RTLD_NEXT, "cudaMalloc");
	if (during) happens(during);
	return real(p, bytes);
}

// Its mutexes find this one.
extern "C" __attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *m) {
	static const auto real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	if (locking) happens(locking);
	return real(m);
}

// Memory of another process is memory of this one here.
extern "C" __attribute__((visibility("default"))) cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *) {
	std::memset(handle, 7, sizeof *handle);
	return cudaSuccess;
}
extern "C" __attribute__((visibility("default"))) cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t, unsigned) {
	static char memory[1];
	*p = memory;
	std::printf("cudaIpcOpenMemHandle\n");
	return cudaSuccess;
}
extern "C" __attribute__((visibility("default"))) cudaError_t cudaIpcCloseMemHandle(void *) {
	std::printf("cudaIpcCloseMemHandle\n");
	return cudaSuccess;
}

int main(int argc, char **argv) {
	c10::initLogging(); // which reads TORCH_CPP_LOG_LEVEL
	anytorch::start("", 1);
	for (const auto &row : rows) {
		if (argc == 2 && std::strcmp(argv[1], row.name) == 0) {
			row.show();
			std::fflush(stdout);
			std::_Exit(0);
		}
	}
	return 2;
}
