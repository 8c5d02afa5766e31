// A random but legal user of an allocator with PyTorch's pluggable ABI, for allocators that
// have no record_stream: whoever frees memory has made the stream on which it is freed wait
// for all work that uses it. The host waits for nothing, since every wait hides hazards.
//
//	user LIBRARY CONTRACT SEED OPERATIONS
//
// The contracts, each with what it allows beside use on several streams:
//
//	joined     memory is freed on the stream on which it was allocated
//	elsewhere  it may be freed on another stream
//	destroyed  streams are destroyed and created as well
//	devices    as elsewhere, on all devices, each with the device current; the thread's own
//	           default streams are among the streams
//	threads    threads take turns, come and go, each with its own default stream beside the
//	           other streams; a thread also frees what others have allocated. A thread that
//	           ends has waited for its own default stream
//	exiting    as threads, without that wait
//
// It prints the number of the operation at which the first thing was found, and what, and
// ends with 1 then; with 0 if nothing was found.
#include "gaugeblock_cuda.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

void *(*allocate)(ssize_t, int, cudaStream_t);
void (*deallocate)(void *, ssize_t, int, cudaStream_t);

struct Stream {
	cudaStream_t handle;
	int device;
	long thread; // whose own default stream it is; 0: nobody's
};

struct Block {
	char *ptr;
	size_t bytes;
	Stream home;
	cudaEvent_t written;              // behind the last write
	std::vector<cudaEvent_t> read;    // behind reads since
};

std::string contract;
std::mt19937_64 random_;
std::vector<Stream> streams;
std::vector<Block> blocks;
int devices = 1;
long operation;
thread_local long own; // number of the thread, if it uses its own default streams

size_t below(size_t n) { return random_() % n; }
bool one_in(size_t n) { return below(n) == 0; }

[[noreturn]] void found(std::string const &what) {
	printf("operation %ld: %s\n", operation, what.c_str());
	fflush(stdout);
	_Exit(1);
}

// crashed is a signal's handler. It prints although a handler should not: the program ends.
void crashed(int signal) { found("it crashes (" + std::string(strsignal(signal)) + ")"); }

void must(cudaError_t e, char const *call) {
	if (e != cudaSuccess) {
		printf("operation %ld: the user's own %s: %s\n", operation, call, cudaGetErrorString(e));
		fflush(stdout);
		_Exit(2);
	}
}
#define MUST(call) must(call, #call)

cudaEvent_t behind(Stream const &s) {
	cudaEvent_t e;
	MUST(cudaSetDevice(s.device));
	MUST(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	MUST(cudaEventRecord(e, s.handle));
	return e;
}

void wait(Stream const &s, cudaEvent_t e) {
	MUST(cudaSetDevice(s.device));
	MUST(cudaStreamWaitEvent(s.handle, e, 0));
}

// use gives a stream work that uses a part of the block, and makes it wait as it must.
void use(Block &b, Stream const &s, bool write) {
	wait(s, b.written);
	size_t from = below(b.bytes), bytes = 1 + below(b.bytes - from);
	gaugeblock_range range{b.ptr + from, bytes};
	if (!write) {
		MUST((cudaError_t)gaugeblock_launch(s.handle, "read", &range, 1, nullptr, 0));
		b.read.push_back(behind(s));
		return;
	}
	for (cudaEvent_t e : b.read) {
		wait(s, e);
		MUST(cudaEventDestroy(e));
	}
	b.read.clear();
	MUST(cudaSetDevice(s.device));
	MUST((cudaError_t)gaugeblock_launch(s.handle, "write", nullptr, 0, &range, 1));
	MUST(cudaEventDestroy(b.written));
	b.written = behind(s);
}

// any is a stream of the device, or the thread's own default stream there.
Stream any(int device) {
	std::vector<Stream> of;
	if (own != 0) {
		of.push_back(Stream{cudaStreamPerThread, device, own});
	}
	for (Stream const &s : streams) {
		if (s.device == device) {
			of.push_back(s);
		}
	}
	return of[below(of.size())];
}

size_t some_size() {
	switch (below(4)) {
	case 0: return 1 + below(512);
	case 1: return 1 + below(64 << 10);
	case 2: return 256 << below(12);
	default: return 1 + below(512 << 10);
	}
}

void malloc_one() {
	Stream s = any(below(devices));
	size_t bytes = some_size();
	MUST(cudaSetDevice(s.device));
	char *ptr = (char *)allocate(bytes, s.device, s.handle);
	if (ptr == nullptr) {
		return;
	}
	for (Block const &b : blocks) {
		if (ptr < b.ptr + b.bytes && b.ptr < ptr + bytes) {
			found("it allocates memory that is allocated");
		}
	}
	MUST((cudaError_t)gaugeblock_allocated(ptr, bytes, s.handle));
	Block b{ptr, bytes, s, behind(s), {}};
	use(b, s, true);
	blocks.push_back(b);
}

void free_one(size_t i) {
	Block b = blocks[i];
	blocks.erase(blocks.begin() + i);
	bool same = contract == "joined" || (!one_in(3) && (b.home.thread == 0 || b.home.thread == own));
	Stream s = same ? b.home : any(b.home.device);
	wait(s, b.written);
	MUST(cudaEventDestroy(b.written));
	for (cudaEvent_t e : b.read) {
		wait(s, e);
		MUST(cudaEventDestroy(e));
	}
	MUST(cudaSetDevice(s.device));
	MUST((cudaError_t)gaugeblock_freed(b.ptr));
	deallocate(b.ptr, b.bytes, s.device, s.handle);
}

// add makes a stream of the device; blocks may still be at home on one that is gone.
void add(int device) {
	Stream s{nullptr, device, 0};
	MUST(cudaSetDevice(device));
	MUST(cudaStreamCreateWithFlags(&s.handle, cudaStreamNonBlocking));
	streams.push_back(s);
}

// destroy destroys a stream; what is at home on it has another home from now on.
void destroy(size_t i) {
	Stream gone = streams[i];
	streams.erase(streams.begin() + i);
	Stream heir = any(gone.device);
	for (Block &b : blocks) {
		if (b.home.handle == gone.handle) {
			b.home = heir;
		}
	}
	MUST(cudaSetDevice(gone.device));
	MUST(cudaStreamDestroy(gone.handle));
}

void step() {
	operation++;
	size_t choice = below(contract == "destroyed" ? 22 : 20);
	if (choice < 8 && blocks.size() < 40) {
		malloc_one();
	} else if (choice < 14 && !blocks.empty()) {
		Block &b = blocks[below(blocks.size())];
		use(b, any(b.home.device), one_in(2));
	} else if (choice < 20 && !blocks.empty()) {
		free_one(below(blocks.size()));
	} else if (choice >= 20) {
		int device = below(devices);
		destroy(below(streams.size()));
		add(device);
	}
	if (gaugeblock_hazards() > 0) {
		char text[1000];
		gaugeblock_hazard(0, text, sizeof text);
		found(text);
	}
}

// What threads take turns by: the number of the one whose turn it is, of so many.
constexpr int turns = 3;
int turn;
std::mutex mutex;
std::condition_variable passed;

// live is the life of one thread: a few turns of a few steps.
void live(int me, long number, long operations) {
	own = number;
	for (bool last = false; !last;) {
		std::unique_lock<std::mutex> lock(mutex);
		passed.wait(lock, [&] { return turn == me; });
		for (size_t i = below(8); i > 0 && operation < operations; i--) {
			step();
		}
		last = one_in(6) || operation >= operations;
		if (last && contract == "threads") {
			for (int device = 0; device < devices; device++) {
				MUST(cudaSetDevice(device));
				MUST(cudaStreamSynchronize(cudaStreamPerThread));
			}
		}
		if (!last) {
			turn = (turn + 1) % turns;
			passed.notify_all();
		}
	}
}

// threads lets so many threads live at a time; when one ends, the next has its turns.
void threads(long operations) {
	std::vector<std::thread> all;
	for (int me = 0; me < turns; me++) {
		all.emplace_back([me, operations] {
			for (long number = 1 + me; operation < operations; number += turns) {
				std::thread(live, me, number, operations).join(); // it has ended with the turn
				std::lock_guard<std::mutex> lock(mutex);
				turn = (turn + 1) % turns;
				passed.notify_all();
			}
		});
	}
	for (std::thread &t : all) {
		t.join();
	}
}

} // namespace

int main(int argc, char **argv) {
	if (argc != 5) {
		fprintf(stderr, "usage: user LIBRARY CONTRACT SEED OPERATIONS\n");
		return 2;
	}
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (library == nullptr) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	allocate = (decltype(allocate))dlsym(library, "my_malloc");
	deallocate = (decltype(deallocate))dlsym(library, "my_free");
	if (allocate == nullptr || deallocate == nullptr) {
		fprintf(stderr, "%s has no my_malloc and my_free\n", argv[1]);
		return 2;
	}
	for (int s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) {
		signal(s, crashed);
	}
	contract = argv[2];
	random_.seed(strtoull(argv[3], nullptr, 10));
	long operations = atol(argv[4]);
	if (contract == "devices") {
		MUST(cudaGetDeviceCount(&devices));
	}
	for (int device = 0; device < devices; device++) {
		for (int i = 0; i < 5; i++) {
			add(device);
		}
	}
	own = contract == "devices";
	if (contract == "threads" || contract == "exiting") {
		threads(operations);
	}
	while (operation < operations) {
		step();
	}
	printf("nothing in %ld operations\n", operation);
	fflush(stdout);
	_Exit(0);
}
