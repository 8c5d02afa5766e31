// Several threads use PyTorch's allocator at once, each for streams of its own; what one has
// allocated another may free. Arguments: seed, threads, operations of each, settings. Whatever is
// wrong is printed, and the program ends with 1.
#include "release.h"

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <gaugeblock_cuda.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;
using c10::cuda::CUDACachingAllocator::DeviceStats;

struct Memory { char *ptr; size_t bytes; cudaStream_t stream; };

std::atomic<int> wrong{0};
std::atomic<long> mallocs{0}, refused{0}, passed{0};
std::mutex lock;
std::map<char *, size_t> live;  // by address: what is allocated does not overlap
std::vector<Memory> handed;     // to whoever takes it

using anytorch::allocator;

void fails(const char *what, long have, long want) {
	std::printf("%s: %ld, not %ld\n", what, have, want);
	wrong++;
}

void cuda(int error) {
	if (error != 0) fails("a CUDA call's error", error, 0);
}

void launch(cudaStream_t s, const Memory &m, bool writes) {
	const gaugeblock_range range{m.ptr, m.bytes};
	cuda(gaugeblock_launch(s, "kernel", writes ? nullptr : &range, writes ? 0 : 1, writes ? &range : nullptr, writes ? 1 : 0));
}

void began(const Memory &m) {
	cuda(gaugeblock_allocated(m.ptr, m.bytes, m.stream));
	std::lock_guard<std::mutex> guard(lock);
	auto next = live.lower_bound(m.ptr);
	if (next != live.end() && next->first < m.ptr + m.bytes) fails("bytes allocated twice", (long)(m.ptr + m.bytes - next->first), 0);
	if (next != live.begin() && (--next)->first + next->second > m.ptr) fails("bytes allocated twice", (long)(next->first + next->second - m.ptr), 0);
	live[m.ptr] = m.bytes;
}

void release(const Memory &m) {
	{
		std::lock_guard<std::mutex> guard(lock);
		live.erase(m.ptr);
	}
	cuda(gaugeblock_freed(m.ptr));
	allocator()->raw_delete(m.ptr);
}

struct Worker {
	std::mt19937_64 random;
	cudaStream_t streams[2];
	cudaEvent_t event;
	std::vector<Memory> own;

	explicit Worker(unsigned long seed) : random(seed) {
		for (auto &s : streams) cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
		cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	}

	size_t below(size_t n) { return random() % n; }

	void allocate() {
		static const size_t sizes[] = {1, 512, 5000, 1 << 20, (1 << 20) + 1, 3 << 20, 12 << 20, 30 << 20};
		Memory m{nullptr, sizes[below(8)] + below(2), streams[below(2)]};
		try {
			m.ptr = (char *)allocator()->raw_alloc_with_stream(m.bytes, m.stream);
		} catch (const c10::OutOfMemoryError &) {
			refused++;
			return;
		}
		mallocs++;
		began(m);
		launch(m.stream, m, true);
		own.push_back(m);
	}

	Memory take() {
		std::swap(own[below(own.size())], own.back());
		Memory m = own.back();
		own.pop_back();
		return m;
	}

	// share uses memory on the thread's other stream.
	void share() {
		const Memory &m = own[below(own.size())];
		cudaStream_t other = streams[below(2)];
		cuda(cudaEventRecord(event, m.stream));
		cuda(cudaStreamWaitEvent(other, event, 0));
		c10::DataPtr data(m.ptr, m.ptr, allocator()->raw_deleter(), c10::Device(c10::kCUDA, 0));
		allocator()->recordStream(data, c10::cuda::getStreamFromExternal(other, 0));
		data.release_context();
		launch(other, m, below(2) == 0);
	}

	// pass gives memory to another thread, or frees what others have given.
	void pass() {
		Memory m{};
		{
			std::lock_guard<std::mutex> guard(lock);
			if (!own.empty() && below(2) == 0) {
				handed.push_back(take());
			} else if (!handed.empty()) {
				m = handed.back();
				handed.pop_back();
				passed++;
			}
		}
		if (m.ptr != nullptr) release(m);
	}

	void step() {
		switch (const size_t n = below(100); n) {
		case 0: return allocator()->emptyCache();
		case 1: (void)allocator()->getDeviceStats(0); return;
		case 2: (void)allocator()->snapshot(); return;
		case 3: cuda(cudaStreamSynchronize(streams[0])); return;
		default:
			if (own.empty() || (n < 45 && own.size() < 12)) return allocate();
			if (n < 65) return launch(own.back().stream, own.back(), n % 2 == 0);
			if (n < 75) return share();
			if (n < 82) return pass();
			return release(take());
		}
	}

	void run(long operations) {
		try {
			for (long i = 0; i < operations; i++) step();
			while (!own.empty()) release(take());
		} catch (const std::exception &e) {
			std::printf("%s\n", e.what());
			wrong++;
		}
	}
};

// rest compares the figures when nothing is allocated any more.
void rest(bool expandable) {
	for (const Memory &m : handed) release(m);
	cuda(cudaDeviceSynchronize());
	allocator()->emptyCache();
	const DeviceStats s = allocator()->getDeviceStats(0);
	const auto all = 0; // of both kinds of blocks
	if (s.allocation[all].allocated != mallocs) fails("allocations", s.allocation[all].allocated, mallocs);
	const struct { const char *name; const c10::CachingAllocator::Stat &stat; } stats[] = {
		{"allocation", s.allocation[all]}, {"segment", s.segment[all]}, {"active", s.active[all]}, {"inactive_split", s.inactive_split[all]},
		{"allocated_bytes", s.allocated_bytes[all]}, {"reserved_bytes", s.reserved_bytes[all]}, {"active_bytes", s.active_bytes[all]},
		{"inactive_split_bytes", s.inactive_split_bytes[all]}, {"requested_bytes", s.requested_bytes[all]},
	};
	for (const auto &x : stats) {
		if (x.stat.current != 0) fails(x.name, x.stat.current, 0);
		if (x.stat.allocated != x.stat.freed) fails(x.name, x.stat.freed, x.stat.allocated);
	}
	// Pages are mapped and unmapped in other portions.
	if (!expandable && s.num_device_alloc != s.num_device_free) fails("num_device_free", s.num_device_free, s.num_device_alloc);
	for (int i = 0; i < gaugeblock_hazards() && i < 3; i++) {
		char text[2000];
		(void)gaugeblock_hazard(i, text, sizeof text);
		std::printf("hazard: %s\n", text);
		wrong++;
	}
}

} // namespace

int main(int argc, char **argv) {
	if (argc != 5) return 2;
	const unsigned long seed = std::strtoul(argv[1], nullptr, 10);
	const int count = std::atoi(argv[2]);
	const long operations = std::atol(argv[3]);
	anytorch::start(argv[4], 1);
	std::vector<std::thread> threads;
	for (int i = 0; i < count; i++) {
		threads.emplace_back([=] { Worker(seed * 1000 + (unsigned long)i).run(operations); });
	}
	for (auto &t : threads) t.join();
	rest(std::strstr(argv[4], "expandable_segments:True") != nullptr);
	std::printf("%ld mallocs, %ld refused, %ld freed by another thread\n", mallocs.load(), refused.load(), passed.load());
	return wrong == 0 ? 0 : 1;
}
