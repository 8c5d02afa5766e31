// A random legal caller of a library with PyTorch's pluggable ABI (my_malloc, my_free) that
// has no record_stream: whoever frees memory has made the stream on which it is freed wait
// for all work that uses it. Streams and threads come and go. The host waits for nothing,
// since every wait hides hazards.
//
//	streams LIBRARY [--seeds FIRST-LAST] [--operations N] [WORD ...]
//
// The words say what callers may do:
//
//	elsewhere      memory may be freed on another stream than that which it was allocated on
//	renews         streams are destroyed, whatever is allocated, freed or running there
//	own            threads use their own default streams (cudaStreamPerThread) as well
//	threads        there are several threads, and they come and go; memory that one allocates
//	               another may use and free. A thread that ends has waited for its own
//	               default streams
//	exits          as threads, without that wait
//	at-once=N      threads at a time; 3
//	devices        two devices, each current when it is meant
//
// The operations of a program; stream N is the calling thread's own default stream:
//
//	by THREAD                          makes the calls from here on
//	end THREAD
//	malloc MEMORY DEVICE STREAM BYTES  and a kernel writes a part of it
//	write|read MEMORY STREAM FROM BYTES
//	free MEMORY STREAM
//	renew DEVICE STREAM
#include "program.h"

#include <condition_variable>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <sys/types.h>
#include <thread>

namespace {

// Worker is a thread that does what it is told.
class Worker {
public:
	Worker() : thread([this] { work(); }) {}
	~Worker() {
		tell(nullptr);
		thread.join();
	}
	// run returns when the thread has done it.
	void run(std::function<void()> what) {
		tell(std::move(what));
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [this] { return !given; });
	}

private:
	void tell(std::function<void()> what) {
		std::lock_guard<std::mutex> lock(mutex);
		job = std::move(what);
		given = true;
		changed.notify_all();
	}
	void work() {
		for (;;) {
			std::unique_lock<std::mutex> lock(mutex);
			changed.wait(lock, [this] { return given; });
			if (job == nullptr) return;
			job();
			given = false;
			changed.notify_all();
		}
	}
	std::mutex mutex;
	std::condition_variable changed;
	std::function<void()> job;
	bool given = false;
	std::thread thread;
};

struct Memory {
	char *ptr;
	size_t bytes;
	int device;
	cudaEvent_t written;           // behind the last write
	std::vector<cudaEvent_t> read; // behind the reads since
};

struct Streams : program::Subject {
	program::Words line;
	static constexpr size_t streams = 5; // on each device
	size_t at_once = 3;

	void *(*allocate)(ssize_t, int, cudaStream_t) = nullptr;
	void (*deallocate)(void *, ssize_t, int, cudaStream_t) = nullptr;
	std::vector<std::vector<cudaStream_t>> stream;
	std::map<size_t, Memory> memory;
	std::map<size_t, std::unique_ptr<Worker>> threads;
	size_t caller = 0;

	bool has(const char *word) const { return line.has(word); }
	bool threaded() const { return has("threads") || has("exits"); }
	size_t devices() const { return has("devices") ? 2 : 1; }

	static size_t some_size(program::Random &r) {
		switch (program::below(r, 4)) {
		case 0: return 1 + program::below(r, 512);
		case 1: return 1 + program::below(r, 64 << 10);
		case 2: return (size_t)256 << program::below(r, 12);
		default: return 1 + program::below(r, 512 << 10);
		}
	}

	// Live is memory as the random program knows it.
	struct Live {
		size_t name, device, home, bytes, thread;
	};

	program::Lines random(program::Random &r, size_t operations) override {
		const size_t all = streams + (has("own") || threaded());
		size_t thread = 0, turn = 0, next = 0, threads_so_far = 0;
		std::vector<size_t> alive;
		while (threads_so_far < at_once) alive.push_back(threads_so_far++);
		std::vector<Live> live;
		program::Lines lines;
		while (lines.size() < operations) {
			std::ostringstream line;
			const size_t kind = program::below(r, 100), i = live.empty() ? 0 : program::below(r, live.size());
			const auto any = [&] { return program::below(r, all); };
			if (kind < 12 && threaded()) {
				if (program::below(r, 6) == 0) {
					lines.push_back("end " + std::to_string(thread));
					alive[turn] = threads_so_far++;
				}
				turn = (turn + 1) % at_once;
				thread = alive[turn];
				line << "by " << thread;
			} else if (kind < 20 && has("renews")) {
				line << "renew " << program::below(r, devices()) << ' ' << program::below(r, streams);
			} else if (live.empty() || (kind < 45 && live.size() < 40)) {
				live.push_back({next++, program::below(r, devices()), any(), some_size(r), thread});
				const Live &m = live.back();
				line << "malloc " << m.name << ' ' << m.device << ' ' << m.home << ' ' << m.bytes;
			} else if (kind < 70) {
				const size_t from = program::below(r, live[i].bytes);
				line << (program::below(r, 2) ? "write " : "read ") << live[i].name << ' ' << any() << ' ' << from << ' '
				     << 1 + program::below(r, live[i].bytes - from);
			} else {
				const bool reachable = live[i].home < streams || live[i].thread == thread;
				const bool moves = !reachable || (has("elsewhere") && program::below(r, 3) == 0);
				line << "free " << live[i].name << ' ' << (moves ? any() : live[i].home);
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
		if (allocate == nullptr || deallocate == nullptr) program::violation("the library is loaded", "it has no my_malloc and my_free");
		for (size_t d = 0; d < devices(); d++) {
			stream.emplace_back(streams);
			for (cudaStream_t &s : stream[d]) create(d, s);
		}
	}

	static void create(int device, cudaStream_t &s) {
		MUST(cudaSetDevice(device));
		MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	}

	// on makes the device current, and finds its stream.
	cudaStream_t on(int device, size_t number) {
		MUST(cudaSetDevice(device));
		return number < streams ? stream[device][number] : cudaStreamPerThread;
	}

	static cudaEvent_t behind(cudaStream_t s) {
		cudaEvent_t e;
		MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
		MUST(cudaEventRecord(e, s));
		return e;
	}

	static void wait(cudaStream_t s, std::vector<cudaEvent_t> events) {
		for (const cudaEvent_t e : events) {
			MUST(cudaStreamWaitEvent(s, e, 0));
			MUST(cudaEventDestroy(e));
		}
	}

	static void write(Memory &m, cudaStream_t s, size_t from, size_t bytes) {
		const gaugeblock_range range = {m.ptr + from, bytes};
		wait(s, {m.written});
		wait(s, std::move(m.read));
		m.read.clear();
		MUST(gaugeblock_launch(s, "write", nullptr, 0, &range, 1));
		m.written = behind(s);
	}

	static void read(Memory &m, cudaStream_t s, size_t from, size_t bytes) {
		const gaugeblock_range range = {m.ptr + from, bytes};
		MUST(cudaStreamWaitEvent(s, m.written, 0));
		MUST(gaugeblock_launch(s, "read", &range, 1, nullptr, 0));
		m.read.push_back(behind(s));
	}

	void malloc_(size_t name, int device, size_t number, size_t bytes) {
		const cudaStream_t s = on(device, number);
		char *p = (char *)allocate(bytes, device, s);
		if (p == nullptr) return;
		for (const auto &[_, m] : memory) {
			if (p < m.ptr + m.bytes && m.ptr < p + bytes) program::violation("memory has two owners", "it allocates what is allocated");
		}
		MUST(gaugeblock_allocated(p, bytes, s));
		memory[name] = {p, bytes, device, behind(s), {}};
		write(memory[name], s, 0, bytes);
	}

	void free_(size_t name, size_t number) {
		Memory m = memory[name];
		memory.erase(name);
		const cudaStream_t s = on(m.device, number);
		wait(s, {m.written});
		wait(s, std::move(m.read));
		MUST(gaugeblock_freed(m.ptr));
		deallocate(m.ptr, m.bytes, m.device, s);
	}

	void end(size_t thread) {
		if (threads.count(thread) == 0) return;
		if (has("threads")) {
			threads[thread]->run([this] {
				for (size_t d = 0; d < devices(); d++) MUST(cudaStreamSynchronize(on(d, streams)));
			});
		}
		threads.erase(thread);
	}

	void called(const std::string &what, size_t a, size_t b, size_t c, size_t d) {
		if (what == "malloc") {
			malloc_(a, b, c, d);
		} else if (what == "renew") {
			on(a, b);
			MUST(cudaStreamDestroy(stream[a][b]));
			create(a, stream[a][b]);
		} else if (memory.count(a) != 0) {
			if (what == "free") free_(a, b);
			else if (what == "write") write(memory[a], on(memory[a].device, b), c, d);
			else read(memory[a], on(memory[a].device, b), c, d);
		}
	}

	void perform(const std::string &line) override {
		if (allocate == nullptr) load();
		std::istringstream in(line);
		std::string what;
		size_t a = 0, b = 0, c = 0, d = 0;
		in >> what >> a >> b >> c >> d;
		if (what == "by") {
			caller = a;
		} else if (what == "end") {
			end(a);
		} else if (!threaded()) {
			called(what, a, b, c, d);
		} else {
			auto &t = threads[caller];
			if (t == nullptr) t = std::make_unique<Worker>();
			t->run([&] { called(what, a, b, c, d); });
		}
	}
};

} // namespace

int main(int argc, char **argv) {
	Streams user;
	user.line = program::read(argc, argv, "streams", [&](const char *word) {
		return program::count(word, "at-once", user.at_once);
	});
	program::settings({{"GAUGEBLOCK_CUDA_DEVICES", user.has("devices") ? "2" : "1"}}, argv);
	return program::run(user, user.line.options.size(), user.line.options.data());
}
