// A random legal caller of a library with PyTorch's pluggable ABI (my_malloc, my_free, and
// where they are there my_record_stream and my_empty_cache), on four streams of one device.
//
//	user LIBRARY [--seeds FIRST-LAST] [--operations N] [WORD ...]
//
// The words say what callers may do, and which rules hold beside that there are no hazards
// and that the process goes on:
//
//	recorded       uses on other streams are told by my_record_stream; without this word, the
//	               allocation's stream waits for them before memory is freed
//	largest=N      bytes of a request; 1 MiB
//	granule=N      sizes of requests are multiples of N bytes
//	sizes=N        the number of sizes that are requested, over and over; without, any
//	live=N         so much memory is allocated at a time, at most; without, up to 43 pieces
//	memory=SIZE    of the device, such as 16MiB
//	returns        rule: when all is freed and the cache emptied, the driver has everything back
//
// The operations of a program:
//
//	malloc MEMORY STREAM BYTES   and a kernel writes it
//	write|read MEMORY STREAM
//	free MEMORY
//	wait
#include "program.h"

#include <dlfcn.h>
#include <map>
#include <set>
#include <sstream>
#include <sys/types.h>

namespace {

constexpr size_t streams = 4;
std::map<char *, size_t> pieces; // of memory that the library has from the driver
bool inside = false;             // in a call of the library

struct Memory {
	char *ptr;
	size_t bytes;
	int stream;
	std::set<int> users; // other streams
};

struct User : program::Subject {
	program::Words line;
	std::string size_of_device;
	size_t sizes = 0, largest = 1 << 20, granule = 1, most_live = 0;

	void *(*allocate)(ssize_t, int, cudaStream_t) = nullptr;
	void (*deallocate)(void *, ssize_t, int, cudaStream_t) = nullptr;
	void (*record_stream)(void *, cudaStream_t) = nullptr;
	void (*empty_cache)() = nullptr;
	std::vector<cudaStream_t> stream;
	std::map<size_t, Memory> memory;

	bool has(const char *word) const { return line.has(word); }

	program::Lines random(program::Random &r, size_t operations) override {
		program::Lines lines;
		std::vector<size_t> live;
		const size_t limit = most_live != 0 ? most_live : 4 + program::below(r, 40);
		std::vector<size_t> some;
		const auto size = [&] { return (1 + program::below(r, program::below(r, 2) ? 4096 : largest) + granule - 1) / granule * granule; };
		for (size_t i = 0; i < sizes; i++) some.push_back(size());
		for (size_t next = 0; lines.size() < operations;) {
			std::ostringstream line;
			const size_t kind = program::below(r, 1000), i = live.empty() ? 0 : program::below(r, live.size());
			if (kind < 3) {
				line << "wait";
			} else if ((kind < 320 && live.size() < limit) || live.empty()) {
				const size_t bytes = some.empty() ? size() : some[program::below(r, some.size())];
				live.push_back(next);
				line << "malloc " << next++ << ' ' << program::below(r, streams) << ' ' << bytes;
			} else if (kind < 700) {
				line << (program::below(r, 2) ? "write " : "read ") << live[i] << ' ' << program::below(r, streams);
			} else {
				line << "free " << live[i];
				live.erase(live.begin() + i);
			}
			lines.push_back(line.str());
		}
		return lines;
	}

	void load() {
		void *library = dlopen(line.library, RTLD_NOW);
		if (library == nullptr) program::violation("the library is loaded", dlerror());
		allocate = (decltype(allocate))dlsym(library, "my_malloc");
		deallocate = (decltype(deallocate))dlsym(library, "my_free");
		record_stream = (decltype(record_stream))dlsym(library, "my_record_stream");
		empty_cache = (decltype(empty_cache))dlsym(library, "my_empty_cache");
		if (allocate == nullptr || deallocate == nullptr) program::violation("the library is loaded", "it has no my_malloc and my_free");
		for (size_t i = 0; i < streams; i++) {
			cudaStream_t s = nullptr;
			MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
			stream.push_back(s);
		}
	}

	// waits makes a stream wait for another.
	void waits(int waiting, int other) {
		cudaEvent_t e;
		MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
		MUST(cudaEventRecord(e, stream[other]));
		MUST(cudaStreamWaitEvent(stream[waiting], e, 0));
		MUST(cudaEventDestroy(e));
	}

	void use(Memory &m, int s, bool write) {
		// One use at a time: what the caller does with its memory is in order.
		if (s != m.stream) {
			waits(s, m.stream);
			m.users.insert(s);
		}
		for (const int u : m.users) {
			if (u != s) waits(s, u);
		}
		const gaugeblock_range range = {m.ptr, m.bytes};
		MUST(gaugeblock_launch(stream[s], write ? "write" : "read", &range, !write, &range, write));
		if (s != m.stream && record_stream != nullptr && has("recorded")) called([&] { record_stream(m.ptr, stream[s]); });
	}

	template <class F> void called(F f) {
		inside = true;
		f();
		inside = false;
	}

	void malloc_(size_t name, int s, size_t bytes) {
		void *p = nullptr;
		called([&] { p = allocate(bytes, 0, stream[s]); });
		if (p == nullptr) {
			cudaGetLastError();
			return;
		}
		MUST(gaugeblock_allocated(p, bytes, stream[s]));
		program::check_hazards();
		memory[name] = {(char *)p, bytes, s, {}};
		use(memory[name], s, true);
	}

	void free_(size_t name) {
		const Memory m = memory[name];
		memory.erase(name);
		if (record_stream == nullptr || !has("recorded")) {
			for (const int u : m.users) waits(m.stream, u);
		}
		MUST(gaugeblock_freed(m.ptr));
		called([&] { deallocate(m.ptr, m.bytes, 0, stream[m.stream]); });
	}

	void finish() override {
		if (!has("returns") || empty_cache == nullptr) return;
		while (!memory.empty()) free_(memory.begin()->first);
		MUST(cudaDeviceSynchronize());
		called([&] { empty_cache(); });
		size_t bytes = 0;
		for (const auto &p : pieces) bytes += p.second;
		if (bytes > 0) program::violation("memory is not returned", std::to_string(bytes) + " bytes of the driver's, after all is freed and the cache emptied");
	}

	void perform(const std::string &line) override {
		if (allocate == nullptr) load();
		std::istringstream in(line);
		std::string what;
		size_t a = 0, b = 0, c = 0;
		in >> what >> a >> b >> c;
		if (what == "malloc") {
			malloc_(a, b, c);
		} else if (what == "wait") {
			MUST(cudaDeviceSynchronize());
		} else if (memory.count(a) != 0) {
			if (what == "free") free_(a);
			else use(memory[a], b, what == "write");
		}
	}
};

template <class F> F *real(const char *name) { return (F *)dlsym(RTLD_NEXT, name); }

} // namespace

// The library's calls come by here.
extern "C" cudaError_t cudaMalloc(void **p, size_t bytes) {
	static auto *f = real<cudaError_t(void **, size_t)>("cudaMalloc");
	const cudaError_t e = f(p, bytes);
	if (e == cudaSuccess && inside) pieces[(char *)*p] = bytes;
	return e;
}

extern "C" cudaError_t cudaFree(void *p) {
	static auto *f = real<cudaError_t(void *)>("cudaFree");
	const cudaError_t e = f(p);
	if (e == cudaSuccess) pieces.erase((char *)p);
	return e;
}

int main(int argc, char **argv) {
	User user;
	user.line = program::read(argc, argv, "user", [&](const char *word) {
		if (std::strncmp(word, "memory=", 7) == 0) {
			user.size_of_device = word + 7;
			return true;
		}
		return program::count(word, "sizes", user.sizes) || program::count(word, "largest", user.largest) ||
			program::count(word, "live", user.most_live) || program::count(word, "granule", user.granule);
	});
	std::vector<std::pair<std::string, std::string>> variables = {{"GAUGEBLOCK_CUDA_DEVICES", "1"}};
	if (!user.size_of_device.empty()) variables.emplace_back("GAUGEBLOCK_CUDA_MEMORY", user.size_of_device);
	program::settings(variables, argv);
	return program::run(user, user.line.options.size(), user.line.options.data());
}
