// A random legal caller of a library with PyTorch's pluggable ABI (my_malloc, my_free, and
// where they are there my_record_stream and my_empty_cache).
//
//	user LIBRARY [--seeds FIRST-LAST] [--operations N] [WORD ...]
//
// The words say what callers may do, and which rules hold beside that there are no hazards
// and that the process goes on:
//
//	recorded       uses on other streams are told by my_record_stream; without this word, the
//	               allocation's stream waits for them before memory is freed
//	streams=N      on each device; 4
//	default        the default stream is one of them
//	devices        all devices, not only the first
//	anywhere       any device may be current when the library is called
//	largest=N      bytes of a request; 1 MiB
//	granule=N      sizes of requests are multiples of N bytes
//	sizes=N        the number of sizes that are requested, over and over; without, any
//	live=N         so much memory is allocated at a time, at most; without, up to 43 pieces
//	memory=SIZE    of a device, such as 16MiB
//	faults         calls of CUDA that the library makes fail now and then; from the first on,
//	               nothing is asked but that the process goes on
//	empties        the cache is emptied now and then
//	align=N        rule: memory is at multiples of N bytes
//	last-error     rule: a call that succeeds leaves no error for cudaGetLastError
//	asks           rule: no request is refused for which the driver has refused nothing, while
//	               a part of the device's memory twice as large is not allocated
//	retries        rule: no request is refused while the library keeps pieces of cudaMalloc's
//	               in which nothing is allocated and which would together suffice
//	returns        rule: when all is freed and the cache emptied, the driver has everything back
//	reuses         rule: cudaMalloc is not called while the library keeps memory that was
//	               allocated with the same size on the same stream, and used on no other
//
// The operations of a program:
//
//	malloc MEMORY DEVICE STREAM BYTES CURRENT   and a kernel writes it
//	write|read MEMORY STREAM
//	free MEMORY CURRENT
//	wait DEVICE
//	empty
//	fault CALL                                  the library's next one fails
#include "program.h"

#include <dlfcn.h>
#include <map>
#include <set>
#include <sstream>
#include <sys/types.h>

namespace {

// The pieces of memory that the library has from the driver.
std::map<char *, size_t> pieces;
bool inside = false; // in a call of the library
size_t asked = 0;    // calls of cudaMalloc in it that have succeeded
size_t denied = 0;   // calls for memory in it that have failed
std::set<std::string> failing; // calls that fail once

struct Memory {
	char *ptr;
	size_t bytes;
	int device, stream;
	std::set<int> users; // other streams
};

struct User : program::Subject {
	program::Words line;
	std::string size_of_device;
	size_t streams = 4, sizes = 0, align = 1, largest = 1 << 20, granule = 1, most_live = 0;

	void *(*allocate)(ssize_t, int, cudaStream_t) = nullptr;
	void (*deallocate)(void *, ssize_t, int, cudaStream_t) = nullptr;
	void (*record_stream)(void *, cudaStream_t) = nullptr;
	void (*empty_cache)() = nullptr;
	std::vector<std::vector<cudaStream_t>> stream;
	std::map<size_t, Memory> memory;
	std::vector<Memory> freed; // and not allocated since
	bool faulted = false;

	bool has(const char *word) const { return line.has(word); }

	program::Lines random(program::Random &r, size_t operations) override {
		const size_t devices = has("devices") ? 2 : 1;
		program::Lines lines;
		std::vector<std::pair<size_t, size_t>> live; // with their devices
		const size_t limit = most_live != 0 ? most_live : 4 + program::below(r, 40);
		std::vector<size_t> some;
		const auto size = [&] { return (1 + program::below(r, program::below(r, 2) ? 4096 : largest) + granule - 1) / granule * granule; };
		for (size_t i = 0; i < sizes; i++) some.push_back(size());
		const auto current = [&](size_t d) { return has("anywhere") ? program::below(r, devices) : d; };
		for (size_t next = 0; lines.size() < operations;) {
			std::ostringstream line;
			const size_t kind = program::below(r, 1000), i = live.empty() ? 0 : program::below(r, live.size());
			if (kind < 3) {
				line << "wait " << program::below(r, devices);
			} else if (kind < 6 && has("empties")) {
				line << "empty";
			} else if (kind < 20 && has("faults")) {
				const char *calls[] = {"cudaMalloc", "cudaFree", "cudaEventRecord", "cudaEventQuery"};
				line << "fault " << calls[program::below(r, 4)];
			} else if ((kind < 320 && live.size() < limit) || live.empty()) {
				const size_t d = program::below(r, devices), bytes = size();
				live.emplace_back(next, d);
				line << "malloc " << next++ << ' ' << d << ' ' << program::below(r, streams) << ' '
				     << (some.empty() ? bytes : some[program::below(r, some.size())]) << ' ' << current(d);
			} else if (kind < 700) {
				line << (program::below(r, 2) ? "write " : "read ") << live[i].first << ' ' << program::below(r, streams);
			} else {
				line << "free " << live[i].first << ' ' << current(live[i].second);
				live.erase(live.begin() + i);
			}
			lines.push_back(line.str());
		}
		return lines;
	}

	bool hazards() const override { return !faulted; }

	void load() {
		void *library = dlopen(line.library, RTLD_NOW);
		if (library == nullptr) program::violation("the library is loaded", dlerror());
		allocate = (decltype(allocate))dlsym(library, "my_malloc");
		deallocate = (decltype(deallocate))dlsym(library, "my_free");
		record_stream = (decltype(record_stream))dlsym(library, "my_record_stream");
		empty_cache = (decltype(empty_cache))dlsym(library, "my_empty_cache");
		if (allocate == nullptr || deallocate == nullptr) program::violation("the library is loaded", "it has no my_malloc and my_free");
		for (int d = 0; d < (has("devices") ? 2 : 1); d++) {
			stream.emplace_back();
			MUST(cudaSetDevice(d));
			for (size_t i = 0; i < streams; i++) {
				cudaStream_t s = nullptr;
				if (i > 0 || !has("default")) MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
				stream[d].push_back(s);
			}
		}
	}

	// waits makes a stream of a device wait for another.
	void waits(int device, int waiting, int other) {
		cudaEvent_t e;
		MUST(cudaSetDevice(device));
		MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
		MUST(cudaEventRecord(e, stream[device][other]));
		MUST(cudaStreamWaitEvent(stream[device][waiting], e, 0));
		MUST(cudaEventDestroy(e));
	}

	void use(Memory &m, int s, bool write) {
		// One use at a time: what the caller does with its memory is in order.
		if (s != m.stream) {
			waits(m.device, s, m.stream);
			m.users.insert(s);
		}
		for (const int u : m.users) {
			if (u != s) waits(m.device, s, u);
		}
		MUST(cudaSetDevice(m.device));
		const gaugeblock_range range = {m.ptr, m.bytes};
		MUST(gaugeblock_launch(stream[m.device][s], write ? "write" : "read", &range, !write, &range, write));
		if (s != m.stream && record_stream != nullptr && has("recorded")) called([&] { record_stream(m.ptr, stream[m.device][s]); });
	}

	template <class F> void called(F f) {
		inside = true;
		f();
		inside = false;
	}

	void check_last_error(const char *call) {
		const cudaError_t e = cudaGetLastError();
		if (e != cudaSuccess && has("last-error") && !faulted) violation("an error is left behind", std::string(call) + ": " + cudaGetErrorName(e));
	}
	[[noreturn]] static void violation(const char *rule, const std::string &text) { program::violation(rule, text); }

	static bool overlap(const Memory &a, const Memory &b) { return a.ptr < b.ptr + b.bytes && b.ptr < a.ptr + a.bytes; }

	// look_for looks for memory that would have served a request for which the driver was asked.
	void look_for(const Memory &m) {
		for (const Memory &f : freed) {
			if (f.bytes == m.bytes && f.device == m.device && f.stream == m.stream && f.users.empty() && !overlap(f, m)) {
				violation("the driver is asked needlessly", "for " + std::to_string(m.bytes) + " bytes on stream " + std::to_string(m.stream) +
					", of which the library has as many that were freed on it");
			}
		}
	}

	// forget takes what is allocated, or gone, from what was freed.
	void forget(const Memory *m) {
		freed.erase(std::remove_if(freed.begin(), freed.end(), [&](const Memory &f) {
			const bool kept = std::any_of(pieces.begin(), pieces.end(), [&](const auto &p) { return f.ptr >= p.first && f.ptr < p.first + p.second; });
			return !kept || (m != nullptr && overlap(f, *m));
		}), freed.end());
	}

	void refused(size_t bytes, int device, bool was_denied) {
		cudaGetLastError();
		size_t available = 0, total = 0, allocated = 0;
		MUST(cudaSetDevice(device));
		MUST(cudaMemGetInfo(&available, &total));
		for (const auto &m : memory) allocated += m.second.device == device ? m.second.bytes : 0;
		if (has("asks") && !faulted && !was_denied && allocated + 2 * bytes <= total) {
			violation("refused without asking", "a request of " + std::to_string(bytes) + " bytes is refused, the driver has refused nothing, and of " +
				std::to_string(total) + " bytes " + std::to_string(allocated) + " are allocated");
		}
		if (!has("retries") || faulted) return;
		size_t idle = 0;
		for (const auto &[begin, size] : pieces) {
			const char *from = begin, *to = begin + size;
			const bool used = std::any_of(memory.begin(), memory.end(), [&](const auto &m) { return m.second.ptr >= from && m.second.ptr < to; });
			if (!used) idle += size;
		}
		if (idle >= bytes) {
			violation("refused with memory cached", "a request of " + std::to_string(bytes) + " bytes is refused, and " + std::to_string(idle) +
				" bytes of the driver's are kept in which nothing is allocated");
		}
	}

	void malloc_(size_t name, int device, int s, size_t bytes, int current) {
		MUST(cudaSetDevice(current));
		void *p = nullptr;
		const size_t before = asked, denials = denied;
		called([&] { p = allocate(bytes, device, stream[device][s]); });
		if (p == nullptr) return refused(bytes, device, denied > denials);
		check_last_error("my_malloc");
		if ((size_t)p % align != 0) violation("alignment", std::to_string(bytes) + " bytes are at " + std::to_string((size_t)p) + ", which is no multiple of " + std::to_string(align));
		MUST(cudaSetDevice(device));
		MUST(gaugeblock_allocated(p, bytes, stream[device][s]));
		if (hazards()) program::check_hazards();
		const Memory m = memory[name] = {(char *)p, bytes, device, s, {}};
		forget(&m);
		if (has("reuses") && asked > before) look_for(m);
		use(memory[name], s, true);
	}

	void free_(size_t name, int current) {
		const Memory m = memory[name];
		memory.erase(name);
		if (record_stream == nullptr || !has("recorded")) {
			for (const int u : m.users) waits(m.device, m.stream, u);
		}
		MUST(cudaSetDevice(current));
		MUST(gaugeblock_freed(m.ptr));
		called([&] { deallocate(m.ptr, m.bytes, m.device, stream[m.device][m.stream]); });
		check_last_error("my_free");
		freed.push_back(m);
		forget(nullptr);
	}

	void finish() override {
		if (!has("returns") || empty_cache == nullptr || faulted) return;
		while (!memory.empty()) free_(memory.begin()->first, memory.begin()->second.device);
		MUST(cudaDeviceSynchronize());
		called([&] { empty_cache(); });
		size_t bytes = 0;
		for (const auto &p : pieces) bytes += p.second;
		if (bytes > 0) violation("memory is not returned", std::to_string(bytes) + " bytes of the driver's, after all is freed and the cache emptied");
	}

	void perform(const std::string &line) override {
		if (allocate == nullptr) load();
		std::istringstream in(line);
		std::string what, call;
		in >> what;
		if (what == "fault") {
			faulted = true;
			in >> call;
			failing.insert(call);
			return;
		}
		size_t a = 0, b = 0, c = 0, d = 0, e = 0;
		in >> a >> b >> c >> d >> e;
		if (what == "malloc") {
			malloc_(a, b, c, d, e);
		} else if (what == "wait") {
			MUST(cudaSetDevice(a));
			MUST(cudaDeviceSynchronize());
		} else if (what == "empty") {
			if (empty_cache != nullptr) called([&] { empty_cache(); });
		} else if (memory.count(a) != 0) {
			if (what == "free") free_(a, b);
			else use(memory[a], b, what == "write");
		}
	}
};

void got(void *p, size_t bytes) {
	if (!inside) return;
	pieces[(char *)p] = bytes;
	asked++;
}

template <class F> F *real(const char *name) { return (F *)dlsym(RTLD_NEXT, name); }

} // namespace

// The library's calls come by here.
#define PASSING(name, parameters, arguments, noted) \
	extern "C" cudaError_t name parameters { \
		static auto *f = real<cudaError_t parameters>(#name); \
		if (inside && failing.erase(#name) != 0) return cudaErrorUnknown; \
		const cudaError_t e = f arguments; \
		if (e == cudaSuccess) { noted; } \
		if (e == cudaErrorMemoryAllocation && inside) denied++; \
		return e; \
	}
PASSING(cudaMalloc, (void **p, size_t bytes), (p, bytes), got(*p, bytes))
PASSING(cudaFree, (void *p), (p), pieces.erase((char *)p))
PASSING(cudaEventRecord, (cudaEvent_t event, cudaStream_t s), (event, s), )
PASSING(cudaEventQuery, (cudaEvent_t event), (event), )

extern "C" int cuMemCreate(unsigned long long *page, size_t bytes, const void *properties, unsigned long long flags) {
	static auto *f = real<int(unsigned long long *, size_t, const void *, unsigned long long)>("cuMemCreate");
	const int e = f(page, bytes, properties, flags);
	if (e != 0 && inside) denied++;
	return e;
}

int main(int argc, char **argv) {
	User user;
	user.line = program::read(argc, argv, "user", [&](const char *word) {
		if (std::strncmp(word, "memory=", 7) == 0) {
			user.size_of_device = word + 7;
			return true;
		}
		return program::count(word, "streams", user.streams) || program::count(word, "sizes", user.sizes) || program::count(word, "align", user.align) ||
			program::count(word, "largest", user.largest) || program::count(word, "live", user.most_live) || program::count(word, "granule", user.granule);
	});
	std::vector<std::pair<std::string, std::string>> variables = {{"GAUGEBLOCK_CUDA_DEVICES", user.has("devices") ? "2" : "1"}};
	if (!user.size_of_device.empty()) variables.emplace_back("GAUGEBLOCK_CUDA_MEMORY", user.size_of_device);
	program::settings(variables, argv);
	return program::run(user, user.line.options.size(), user.line.options.data());
}
