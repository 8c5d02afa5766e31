// Rows of docs/deviations.md that need more than one thread, or entry points that spec.Allocator
// does not have. The argument names one; what PyTorch's allocator does is printed. cplusplus_rows_test.go
// says what each shows, with what is printed.
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*)(DeviceIndex));
}

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

CUDAAllocator *allocator() { return c10::cuda::CUDACachingAllocator::get(); }
constexpr size_t MiB = 1 << 20;

// attempt makes a call and says how it ended, to its first full stop.
void attempt(const char *what, const std::function<void()> &call) {
	std::string text = "done";
	try {
		call();
	} catch (const c10::Error &e) {
		text = e.what_without_backtrace();
	} catch (const std::exception &e) {
		text = e.what();
	}
	std::printf("%s: %s\n", what, text.substr(0, text.find_first_of(".\n")).c_str());
	std::fflush(stdout);
}

// alone makes a call in a thread of its own.
void alone(const std::function<void()> &call) { std::thread(call).join(); }

std::function<void()> during;             // what happens in the next cudaMalloc, before memory is there
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
	c10::CachingAllocator::setAllocatorSettings("release_lock_on_cudamalloc:True");
	allocator()->setMemoryFraction(0.5, 0);
	during = [] { alone([] { attempt("a request of 30 MiB meanwhile", [] { allocator()->raw_alloc(30 * MiB); }); }); };
	attempt("a request of 30 MiB, of 50 MiB that are allowed", [] { allocator()->raw_alloc(30 * MiB); });
	std::printf("reserved: %zu MiB\n", reserved() / MiB);
	attempt("one more", [] { allocator()->raw_alloc(2 * MiB); });
}

// A pool is given up and erased while a request for it is in cudaMalloc. Memory that is freed is
// filled with something else (MALLOC_PERTURB_), and so is the pool.
void poolGone() {
	c10::CachingAllocator::setAllocatorSettings("release_lock_on_cudamalloc:True");
	const c10::MempoolId_t pool{0, 1};
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
	allocator()->recordHistory(true, nullptr, 100, c10::CachingDeviceAllocator::RecordContext::NEVER, true, {});
	std::string mine = "allocating", other = "freeing";
	allocator()->pushCompileContext(mine);
	void *p = allocator()->raw_alloc(512);
	alone([&] {
		allocator()->pushCompileContext(other);
		allocator()->raw_delete(p);
	});
	const char *names[] = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot", "oom"};
	const auto now = allocator()->snapshot({0, 0}, true);
	for (const auto &e : now.device_traces.at(0)) {
		if (e.action_ <= 2) std::printf("%s: %s\n", names[e.action_], e.compile_context_.c_str());
	}
}

const struct { const char *name; void (*show)(); } rows[] = {
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
	if (during) {
		const auto now = std::move(during);
		during = nullptr;
		now();
	}
	return real(p, bytes);
}

int main(int argc, char **argv) {
	c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
	allocator()->init(1);
	for (const auto &row : rows) {
		if (argc == 2 && std::strcmp(argv[1], row.name) == 0) {
			row.show();
			std::fflush(stdout);
			std::_Exit(0);
		}
	}
	return 2;
}
