// What RMM's known faults do to bytes: on a real GPU, and on the fake one. Work is held up
// by a host function that waits, on the fake GPU by a gate.
//
//	real EXPERIMENT [LIBRARY]
//
//	merge    three streams and a pool of 4 MiB (recipe rmm-head-pool): the second stream's
//	         request merges the first's free list into its own
//	exits    a thread ends while its own default stream has work: does its end wait for it?
//	arena    the same thread frees memory before it ends, and the next thread allocates
//	         (recipe rmm-head-arena)
//	handles  is the handle of a destroyed stream used again, while its work is pending and
//	         when it is done?
//	reused   memory freed on a stream that is destroyed with work pending, and allocated on a
//	         stream with the same handle, if one comes (recipes rmm-head-arena, rmm-aba-pool)
//
// Each prints what the first byte of the memory is before and after the held work is let go.
#include "gaugeblock_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t MiB = 1 << 20;
constexpr unsigned char first = 0xAA, second = 0xCC;

void must(cudaError_t e, char const *call) {
	if (e != cudaSuccess) {
		printf("%s: %s\n", call, cudaGetErrorString(e));
		exit(2);
	}
}
#define MUST(call) must(call, #call)

unsigned char *host; // page-locked memory

void *(*allocate)(ssize_t, int, cudaStream_t);
void (*deallocate)(void *, ssize_t, int, cudaStream_t);

void load(char const *path) {
	void *library = dlopen(path, RTLD_NOW);
	if (library == nullptr) {
		printf("%s\n", dlerror());
		exit(2);
	}
	allocate = (decltype(allocate))dlsym(library, "my_malloc");
	deallocate = (decltype(deallocate))dlsym(library, "my_free");
}

// The hold. A host function ends by itself after some seconds, so that nothing waits for
// ever for a stream that is not let go.
std::atomic<bool> let_go{false};
std::atomic<bool> held_done{false};

auto busy = (int (*)(void *))dlsym(RTLD_DEFAULT, "gaugeblock_busy");
auto drain = (int (*)(void *))dlsym(RTLD_DEFAULT, "gaugeblock_drain");

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void CUDART_CB wait_here(void *) {
	double end = now() + 3;
	while (!let_go && now() < end) {
		usleep(1000);
	}
	held_done = true;
}

void CUDART_CB mark_done(void *) { held_done = true; }

void hold(cudaStream_t s) {
	let_go = held_done = false;
	if (busy != nullptr) {
		MUST((cudaError_t)busy(s));
		MUST(cudaLaunchHostFunc(s, mark_done, nullptr));
	} else {
		MUST(cudaLaunchHostFunc(s, wait_here, nullptr));
	}
}

void release(cudaStream_t s) {
	let_go = true;
	if (drain != nullptr) {
		drain(s); // refused if the stream has been destroyed and is done
	}
	MUST(cudaDeviceSynchronize());
}

// warm does everything once that the first time may have to wait for the device.
void warm() {
	void *p;
	MUST(cudaMallocHost((void **)&host, 64));
	MUST(cudaMalloc(&p, MiB));
	for (size_t bytes : {MiB, MiB / 4}) {
		MUST(cudaMemsetAsync(p, 0, bytes, cudaStreamPerThread));
		MUST(cudaMemcpyAsync(host, p, 1, cudaMemcpyDeviceToHost, cudaStreamPerThread));
	}
	MUST(cudaDeviceSynchronize());
	MUST(cudaFree(p));
}

cudaStream_t stream() {
	cudaStream_t s;
	MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	return s;
}

int byte(void *ptr, cudaStream_t s) {
	MUST(cudaMemcpyAsync(host, ptr, 1, cudaMemcpyDeviceToHost, s));
	MUST(cudaStreamSynchronize(s));
	return host[0];
}

// report says what the byte was and is. The one of the second owner must stay.
void report(char const *what, bool same, int before, int after) {
	printf("%s: the second owner has the same memory: %s; it wrote %02x; before the first owner's work was done it read %02x, afterwards %02x: %s\n",
		what, same ? "yes" : "no", second, before, after, !same ? "nothing to see" : after == second ? "intact" : "OVERWRITTEN");
}

void merge() {
	setenv("FOREIGN_BYTES", std::to_string(4 * MiB).c_str(), 1);
	setenv("FOREIGN_MAXIMUM", std::to_string(4 * MiB).c_str(), 1);
	cudaStream_t a = stream(), b = stream(), c = stream();
	void *warm = allocate(MiB, 0, a); // the pool is made before anything is held
	deallocate(warm, MiB, 0, a);
	MUST(cudaDeviceSynchronize());

	void *x = allocate(MiB, 0, a);
	hold(a);
	MUST(cudaMemsetAsync(x, first, MiB, a));
	deallocate(x, MiB, 0, a);
	void *none = allocate(8 * MiB, 0, b); // there is not so much: the lists are merged
	void *y = allocate(MiB, 0, c);
	MUST(cudaMemsetAsync(y, second, MiB, c));
	if (none != nullptr) {
		printf("merge: the pool has grown\n");
	}
	int before = byte(y, c);
	bool pending = !held_done;
	release(a);
	report("merge", x == y, before, byte(y, c));
	printf("merge: the first owner's work was still held when the second owner read: %s\n", pending ? "yes" : "no");
}

void exits() {
	MUST(cudaDeviceSynchronize());
	double begun = now();
	std::thread([] { hold(cudaStreamPerThread); }).join();
	printf("exits: the thread's end took %.3f s, and the held work of its default stream was %s then\n", now() - begun,
		held_done ? "done: the end waits" : "still pending: the end does not wait");
	let_go = true;
	MUST(cudaDeviceSynchronize());
}

void arena() {
	setenv("FOREIGN_BYTES", std::to_string(64 * MiB).c_str(), 1);
	cudaStream_t reader = stream();
	deallocate(allocate(MiB / 4, 0, reader), MiB / 4, 0, reader);
	MUST(cudaDeviceSynchronize());

	void *x = nullptr, *y = nullptr;
	std::thread([&] {
		x = allocate(MiB / 4, 0, cudaStreamPerThread);
		hold(cudaStreamPerThread);
		MUST(cudaMemsetAsync(x, first, MiB / 4, cudaStreamPerThread));
		deallocate(x, MiB / 4, 0, cudaStreamPerThread);
	}).join();
	bool at_exit = held_done;
	int before = 0;
	std::thread([&] {
		y = allocate(MiB / 4, 0, cudaStreamPerThread);
		MUST(cudaMemsetAsync(y, second, MiB / 4, cudaStreamPerThread));
		before = byte(y, cudaStreamPerThread);
	}).join();
	bool pending = !held_done;
	let_go = true;
	MUST(cudaDeviceSynchronize());
	report("arena", x == y, before, byte(y, reader));
	printf("arena: at the thread's end its work was %s; when the second owner read it was %s\n", at_exit ? "done" : "pending",
		pending ? "pending" : "done");
}

// another makes streams until one has the handle, a bounded number; the others are kept.
cudaStream_t another(cudaStream_t handle, int most, int *tried) {
	for (*tried = 1; *tried <= most; ++*tried) {
		cudaStream_t s = stream();
		if (s == handle) {
			return s;
		}
	}
	return nullptr;
}

void handles() {
	int tried;
	cudaStream_t a = stream();
	MUST(cudaStreamDestroy(a));
	bool found = another(a, 64, &tried) != nullptr;
	printf("handles: of an idle stream: %s (stream %d of at most 64)\n", found ? "used again" : "not used again", tried);
	a = stream();
	hold(a);
	MUST(cudaStreamDestroy(a));
	bool pending = !held_done;
	found = another(a, 64, &tried) != nullptr;
	printf("handles: of a stream with work pending (%s): %s (stream %d of at most 64), and its work was %s then\n", pending ? "destroying did not wait" : "destroying has waited",
		found ? "used again" : "not used again", tried, held_done ? "done" : "pending");
	let_go = true;
	MUST(cudaDeviceSynchronize());
	found = another(a, 64, &tried) != nullptr;
	printf("handles: of the same one when its work is done: %s (stream %d of at most 64)\n", found ? "used again" : "not used again", tried);
}

void reused(char const *path) {
	setenv("FOREIGN_BYTES", std::to_string(64 * MiB).c_str(), 1);
	cudaStream_t reader = stream(), a = stream();
	deallocate(allocate(MiB / 4, 0, a), MiB / 4, 0, a);
	MUST(cudaDeviceSynchronize());
	void *x = allocate(MiB / 4, 0, a);
	hold(a);
	MUST(cudaMemsetAsync(x, first, MiB / 4, a));
	deallocate(x, MiB / 4, 0, a);
	MUST(cudaStreamDestroy(a));
	int tried;
	cudaStream_t b = another(a, 64, &tried);
	std::string what = std::string("reused ") + (strrchr(path, '/') == nullptr ? path : strrchr(path, '/') + 1);
	if (b == nullptr) {
		printf("%s: no stream has the same handle while work is pending\n", what.c_str());
	} else {
		void *y = allocate(MiB / 4, 0, b);
		MUST(cudaMemsetAsync(y, second, MiB / 4, b));
		int before = byte(y, b);
		bool pending = !held_done;
		release(b);
		report(what.c_str(), x == y, before, byte(y, reader));
		printf("%s: the first owner's work was %s when the second owner read\n", what.c_str(), pending ? "pending" : "done");
	}
	let_go = true;
	MUST(cudaDeviceSynchronize());
}

} // namespace

int main(int argc, char **argv) {
	std::string experiment = argc > 1 ? argv[1] : "";
	if (argc > 2) {
		load(argv[2]);
	}
	bool library = argc == 3;
	warm();
	if (experiment == "merge" && library) {
		merge();
	} else if (experiment == "exits" && argc == 2) {
		exits();
	} else if (experiment == "arena" && library) {
		arena();
	} else if (experiment == "handles" && argc == 2) {
		handles();
	} else if (experiment == "reused" && library) {
		reused(argv[2]);
	} else {
		fprintf(stderr, "usage: real merge|arena|reused LIBRARY, real exits|handles\n");
		return 2;
	}
	fflush(stdout);
	_exit(0);
}
