// Times the C functions of libgaugeblock.so with the workloads of tests/bench, which are
// those that PyTorch's own allocator is timed with.
//
//	entrybench FOLDER    the folder of libgaugeblock.so
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

static void *(*give)(size_t, int, void *);
static void (*take)(void *, size_t, int, void *);

static uint64_t splitmix(uint64_t &x) {
	x += 0x9E3779B97F4A7C15ULL;
	uint64_t z = x;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

// size is splitMix.size of tests/bench/workload.go.
static size_t size(uint64_t &s, bool small_only) {
	uint64_t r = splitmix(s), kind = r % 100, q = r >> 8;
	if (small_only || kind < 70) return (size_t(512) << (q % 11)) + (q >> 8) % 512;
	if (kind < 95) return (size_t(1) << 20) + q % (9u << 20);
	return (size_t(10) << 20) + q % (54u << 20);
}

static double since(Clock::time_point t, int64_t n) {
	return std::chrono::duration<double, std::nano>(Clock::now() - t).count() / double(n);
}

static double pair(int64_t n, size_t bytes) {
	take(give(bytes, 0, nullptr), bytes, 0, nullptr);
	auto began = Clock::now();
	for (int64_t i = 0; i < n; i++) take(give(bytes, 0, nullptr), bytes, 0, nullptr);
	return since(began, n);
}

static double churn(int64_t n, size_t live, bool small_only) {
	uint64_t s = 7000;
	std::vector<void *> out(live);
	for (auto &p : out) p = give(size(s, small_only), 0, nullptr);
	auto step = [&] {
		auto k = splitmix(s) % live;
		take(out[k], 0, 0, nullptr);
		out[k] = give(size(s, small_only), 0, nullptr);
	};
	for (size_t i = 0; i < 2 * live; i++) step();
	auto began = Clock::now();
	for (int64_t i = 0; i < n; i++) step();
	double result = since(began, n);
	for (auto p : out) take(p, 0, 0, nullptr);
	return result;
}

int main(int argc, char **argv) {
	std::string path = std::string(argc > 1 ? argv[1] : ".") + "/libgaugeblock.so";
	void *library = dlopen(path.c_str(), RTLD_NOW);
	if (library == nullptr) {
		std::fprintf(stderr, "entrybench: %s\n", dlerror());
		return 1;
	}
	give = reinterpret_cast<decltype(give)>(dlsym(library, "gaugeblock_malloc"));
	take = reinterpret_cast<decltype(take)>(dlsym(library, "gaugeblock_free"));
	auto reset = reinterpret_cast<void (*)()>(dlsym(library, "gaugeblock_reset"));
	for (size_t bytes : {size_t(512), size_t(4096), size_t(1) << 20, size_t(2) << 20, size_t(32) << 20}) {
		double best = 1e300;
		for (int i = 0; i < 3; i++) best = std::min(best, pair(300000, bytes));
		std::printf("pair_%-27zu %12.1f\n", bytes, best);
	}
	reset();
	for (bool small_only : {true, false}) {
		for (size_t live : {size_t(100), size_t(1000), size_t(10000)}) {
			if (!small_only && live > 1000) continue;
			double best = 1e300;
			for (int i = 0; i < 2; i++) best = std::min(best, churn(300000, live, small_only));
			std::printf("churn_%s_n%-20zu %12.1f\n", small_only ? "small" : "mixed", live, best);
			reset();
		}
	}
}
