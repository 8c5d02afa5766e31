// The loops of tests/bench/workload.go for PyTorch's allocator: the same sizes, and
// the same random numbers.
#include "loops.h"

#include "release.h"

#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// The counters of counter.c, in a process that counts.
extern "C" {
__attribute__((weak)) void gaugeblock_count_begin(void);
__attribute__((weak)) void gaugeblock_count_end(void);
}

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

using anytorch::allocator;

uint64_t splitMix(uint64_t &state) {
	state += 0x9E3779B97F4A7C15u;
	uint64_t z = state;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

constexpr uint64_t MiB = uint64_t(1) << 20;

struct Worker {
	cudaStream_t stream = nullptr;
	uint64_t random = 0;
	bool smallOnly = false;
	uint64_t pair = 0; // bytes; 0: churn
	std::vector<void *> live;

	uint64_t size() {
		const uint64_t r = splitMix(random), c = r % 100, q = r >> 8;
		if (smallOnly || c < 70) return (uint64_t(512) << (q % 11)) + (q >> 8) % 512;
		if (c < 95) return MiB + q % (9 * MiB);
		return 10 * MiB + q % (54 * MiB);
	}

	void steps(uint64_t n) {
		CUDAAllocator *a = allocator();
		if (pair != 0) {
			for (uint64_t i = 0; i < n; i++) a->raw_delete(a->raw_alloc_with_stream(pair, stream));
			return;
		}
		for (uint64_t i = 0; i < n; i++) {
			void *&block = live[splitMix(random) % live.size()];
			a->raw_delete(block);
			block = a->raw_alloc_with_stream(size(), stream);
		}
	}
};

std::vector<cudaStream_t> streams;
std::vector<Worker> workers;

void check(cudaError_t e) {
	if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

void start(const char *settings) {
	check(cudaSetDevice(0));
	anytorch::start(settings, 1);
	streams.resize(LOOPS_MAX_THREADS);
	for (auto &s : streams) check(cudaStreamCreate(&s));
}

void begin(const loops_workload &w) {
	workers.assign(w.threads, Worker());
	for (uint64_t i = 0; i < w.threads; i++) {
		Worker &worker = workers[i];
		worker.pair = w.bytes;
		worker.smallOnly = w.small_only != 0;
		worker.random = w.seed + i;
		if (w.bytes != 0) {
			worker.steps(1);
			continue;
		}
		worker.stream = streams.at(i);
		worker.live.resize(w.live);
		for (void *&block : worker.live) block = allocator()->raw_alloc_with_stream(worker.size(), worker.stream);
		worker.steps(2 * w.live);
	}
}

void end() {
	for (auto &worker : workers) {
		for (void *block : worker.live) allocator()->raw_delete(block);
	}
	workers.clear();
	allocator()->emptyCache();
}

template <class F> uint64_t timed(F f) {
	const auto began = std::chrono::steady_clock::now();
	f();
	return (uint64_t)std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
}

// One worker runs on the calling thread.
uint64_t run(uint64_t n) {
	if (workers.size() == 1) {
		if (gaugeblock_count_begin) gaugeblock_count_begin();
		const uint64_t took = timed([n] { workers[0].steps(n); });
		if (gaugeblock_count_end) gaugeblock_count_end();
		return took;
	}
	std::atomic<size_t> ready{0};
	std::atomic<bool> go{false};
	std::vector<uint64_t> took(workers.size());
	std::vector<std::string> failed(workers.size());
	std::vector<std::thread> threads;
	for (size_t i = 0; i < workers.size(); i++) {
		threads.emplace_back([&, i] {
			(void)cudaSetDevice(0);
			ready++;
			while (!go) std::this_thread::yield();
			try {
				took[i] = timed([&] { workers[i].steps(n); });
			} catch (const std::exception &e) {
				failed[i] = e.what();
			}
		});
	}
	while (ready < workers.size()) std::this_thread::yield();
	go = true;
	for (auto &t : threads) t.join();
	for (const auto &problem : failed) {
		if (!problem.empty()) throw std::runtime_error(problem);
	}
	return *std::max_element(took.begin(), took.end());
}

void figures(loops_figures *f) {
	const auto s = allocator()->getDeviceStats(0);
	f->allocations = s.allocation[0].allocated;
	f->frees = s.allocation[0].freed;
	f->allocated_bytes = s.allocated_bytes[0].allocated;
	f->requested_bytes = s.requested_bytes[0].allocated;
	f->reserved_bytes = s.reserved_bytes[0].current;
	const auto heap = mallinfo2();
	f->heap_bytes = (int64_t)(heap.uordblks + heap.hblkhd);
}

template <class F> void repeat(uint64_t n, F f) {
	for (uint64_t i = 0; i < n; i++) {
		f();
		asm volatile("" ::: "memory");
	}
}

void part(uint64_t which, uint64_t n) {
	static std::recursive_mutex recursive;
	static std::mutex plain;
	int device = 0;
	c10::DeviceIndex index = 0;
	switch (which) {
	case PART_NOTHING: return repeat(n, [] {});
	case PART_ENTRY: return repeat(n, [a = allocator()] { a->raw_delete(a->raw_alloc_with_stream(0, nullptr)); });
	case PART_RUNTIME_DEVICE: return repeat(n, [&] { check(cudaGetDevice(&device)); });
	case PART_C10_DEVICE: return repeat(n, [&] { check(c10::cuda::GetDevice(&index)); });
	case PART_RECURSIVE_MUTEX: return repeat(n, [] { std::lock_guard<std::recursive_mutex> lock(recursive); });
	case PART_MUTEX: return repeat(n, [] { std::lock_guard<std::mutex> lock(plain); });
	case PART_HEAP: return repeat(n, [] { ::operator delete(::operator new(128)); });
	}
	throw std::runtime_error("there is no such part");
}

void perform(int operation, loops_call *call) {
	switch (operation) {
	case LOOPS_START: return start(call->text);
	case LOOPS_CONFIGURE: return anytorch::setAllocatorSettings(call->text);
	case LOOPS_BEGIN: return begin(call->workload);
	case LOOPS_RUN: call->nanoseconds = run(call->steps); return;
	case LOOPS_END: return end();
	case LOOPS_FIGURES: return figures(&call->figures);
	case LOOPS_PART: return part(call->workload.bytes, call->steps);
	}
	throw std::runtime_error("there is no such operation");
}

} // namespace

extern "C" int gaugeblock_loops(int operation, loops_call *call) {
	try {
		perform(operation, call);
		return 0;
	} catch (const std::exception &e) {
		std::strncpy(call->text, e.what(), LOOPS_TEXT - 1);
		call->text[LOOPS_TEXT - 1] = 0;
		return 1;
	}
}
