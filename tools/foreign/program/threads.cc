// Threads that allocate and free, switched in the middle of calls, for a library with
// PyTorch's pluggable ABI (my_malloc, my_free).
//
//	threads LIBRARY [--seeds FIRST-LAST] [--operations N]
//
// Each thread has a stream of its own and works on no other. An operation may be
// interrupted at one of the calls of CUDA that the allocator makes in it: other threads
// perform theirs, and it goes on when its thread is to do something else, or when another
// thread waits for a mutex. This happens at the places that the lines name, so a program
// always runs in the same way.
//
//	malloc THREAD MEMORY BYTES [until CALL]
//	free THREAD MEMORY [until CALL]
//
// CALL counts the operation's calls of CUDA from 1: it is interrupted before that one.
#include "program.h"

#include <condition_variable>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <sstream>
#include <sys/types.h>
#include <thread>

namespace {

void *(*my_malloc)(ssize_t bytes, int device, cudaStream_t stream);
void (*my_free)(void *ptr, ssize_t bytes, int device, cudaStream_t stream);

constexpr int threads = 3;

// Worker is a thread, and what it is doing. One thread runs at a time, or the controller.
struct Worker {
	enum State { idle, running, interrupted, blocked } state = idle;
	std::string line;
	size_t calls = 0, until = 0;
	cudaStream_t stream{};
};

struct Memory {
	void *ptr;
	ssize_t bytes;
};

std::mutex mutex; // of what follows; it is not watched
std::condition_variable changed;
Worker workers[threads];
std::map<int, Memory> memory;
thread_local Worker *own = nullptr;
thread_local bool watched = false; // in the allocator, and not in a call of CUDA

void become(Worker *w, Worker::State s) {
	std::unique_lock<std::mutex> lock(mutex);
	w->state = s;
	changed.notify_all();
	changed.wait(lock, [&] { return w->state == Worker::running; });
}

// before is called before each call of CUDA.
void before() {
	if (own == nullptr || !watched) return;
	watched = false;
	if (++own->calls == own->until) become(own, Worker::interrupted);
}

struct Call {
	bool was = watched;
	Call() { before(), watched = false; }
	~Call() { watched = was; }
};

void perform_here(Worker *w) {
	std::istringstream words(w->line);
	std::string what, word;
	int thread, name;
	ssize_t bytes;
	words >> what >> thread >> name;
	if (what == "malloc") {
		words >> bytes;
		if (memory.count(name) != 0) return;
		watched = true;
		void *p = my_malloc(bytes, 0, w->stream);
		watched = false;
		if (p == nullptr) return;
		gaugeblock_allocated(p, bytes, w->stream);
		memory[name] = {p, bytes};
		const gaugeblock_range range = {p, (size_t)bytes};
		MUST(gaugeblock_launch(w->stream, "kernel", nullptr, 0, &range, 1));
	} else if (memory.count(name) != 0) {
		const Memory m = memory[name];
		memory.erase(name);
		gaugeblock_freed(m.ptr);
		watched = true;
		my_free(m.ptr, m.bytes, 0, w->stream);
		watched = false;
	}
}

// go lets a worker run until it has performed its line, is interrupted, or waits for a mutex;
// those that may hold the mutex go on then.
void go(Worker *w) {
	for (;;) {
		{
			std::unique_lock<std::mutex> lock(mutex);
			w->state = Worker::running;
			changed.notify_all();
			changed.wait(lock, [&] { return w->state != Worker::running; });
			if (w->state != Worker::blocked) return;
		}
		for (auto &other : workers) {
			if (&other != w && other.state == Worker::interrupted) go(&other);
		}
	}
}

void work(Worker *w) {
	own = w;
	for (;;) {
		become(w, Worker::idle);
		perform_here(w);
	}
}

struct Threads : program::Subject {
	const char *path = nullptr;

	void load() {
		void *library = dlopen(path, RTLD_NOW);
		if (library == nullptr) program::violation("the library is loaded", dlerror());
		my_malloc = (decltype(my_malloc))dlsym(library, "my_malloc");
		my_free = (decltype(my_free))dlsym(library, "my_free");
		if (my_malloc == nullptr || my_free == nullptr) program::violation("the library is loaded", "it has no my_malloc and my_free");
	}

	program::Lines random(program::Random &r, size_t operations) override {
		program::Lines lines;
		std::vector<int> live[threads];
		for (int next = 0; lines.size() < operations;) {
			const int t = program::below(r, threads);
			std::ostringstream line;
			if (live[t].empty() || (live[t].size() < 5 && program::below(r, 2) == 0)) {
				live[t].push_back(next);
				line << "malloc " << t << ' ' << next++ << ' ' << (program::below(r, 4) == 0 ? 100000 : 1000);
			} else {
				const size_t i = program::below(r, live[t].size());
				line << "free " << t << ' ' << live[t][i];
				live[t].erase(live[t].begin() + i);
			}
			if (program::below(r, 2) == 0) line << " until " << 1 + program::below(r, 4);
			lines.push_back(line.str());
		}
		return lines;
	}

	void perform(const std::string &line) override {
		static bool begun = [this] {
			load();
			for (auto &w : workers) {
				MUST(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
				w.state = Worker::running;
				std::thread(work, &w).detach();
				std::unique_lock<std::mutex> lock(mutex);
				changed.wait(lock, [&] { return w.state == Worker::idle; });
			}
			return true;
		}();
		(void)begun;
		Worker *w = &workers[line[line.find(' ') + 1] - '0'];
		while (w->state == Worker::interrupted) go(w);
		const size_t until = line.find(" until ");
		w->line = line;
		w->calls = 0;
		w->until = until == std::string::npos ? 0 : std::strtoul(line.c_str() + until + 7, nullptr, 10);
		go(w);
	}

	void finish() override {
		for (auto &w : workers) {
			while (w.state == Worker::interrupted) go(&w);
		}
	}
};

template <class F> F *real(const char *name) { return (F *)dlsym(RTLD_NEXT, name); }

} // namespace

// The calls before which an operation may be interrupted, and the mutexes.
#define WATCHED(name, parameters, arguments) \
	extern "C" cudaError_t name parameters { \
		static auto *f = real<cudaError_t parameters>(#name); \
		Call c; \
		return f arguments; \
	}
WATCHED(cudaGetDevice, (int *d), (d))
WATCHED(cudaSetDevice, (int d), (d))
WATCHED(cudaMalloc, (void **p, size_t n), (p, n))
WATCHED(cudaFree, (void *p), (p))
WATCHED(cudaEventCreateWithFlags, (cudaEvent_t *e, unsigned f_), (e, f_))
WATCHED(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, s))
WATCHED(cudaEventQuery, (cudaEvent_t e), (e))
WATCHED(cudaEventSynchronize, (cudaEvent_t e), (e))
WATCHED(cudaEventDestroy, (cudaEvent_t e), (e))
WATCHED(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned f_), (s, e, f_))
WATCHED(cudaStreamSynchronize, (cudaStream_t s), (s))
WATCHED(cudaDeviceSynchronize, (), ())

extern "C" int pthread_mutex_lock(pthread_mutex_t *m) {
	static auto *lock = real<int(pthread_mutex_t *)>("pthread_mutex_lock");
	if (own == nullptr || !watched) return lock(m);
	watched = false;
	int r;
	while ((r = pthread_mutex_trylock(m)) == EBUSY) become(own, Worker::blocked);
	watched = true;
	return r;
}

int main(int argc, char **argv) {
	Threads subject;
	if (argc < 2) {
		std::fprintf(stderr, "usage: threads LIBRARY [--seeds FIRST-LAST] [--operations N]\n");
		return 2;
	}
	program::settings({}, argv);
	subject.path = argv[1];
	return program::run(subject, argc - 1, argv + 1);
}
