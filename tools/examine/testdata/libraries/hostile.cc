// What a library can do to whoever loads it: HOSTILE in the environment says what. It allocates as
// naive.cc does. Where it is built with MEMORY=1 its memory is pinned, with 2 managed.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef MEMORY
#define MEMORY 0
#endif

static bool is(const char *what) {
	const char *wanted = std::getenv("HOSTILE");
	return wanted != nullptr && std::strcmp(wanted, what) == 0;
}

// leave starts a process of a session of its own, which would stay for a minute.
static void leave() {
	if (fork() != 0) return;
	setsid();
	if (fork() != 0) _exit(0);
	sleep(60);
	_exit(0);
}

__attribute__((constructor)) static void writes() {
	if (is("writes")) {
		for (int i = 0; i < 20000; i++) std::printf("line %d of a constructor\n", i);
		std::fflush(stdout);
	}
}

// much is more than anybody reads, to either output.
static void much() {
	static char text[1 << 20];
	if (text[0] == 'x') return; // has
	std::memset(text, 'x', sizeof text);
	for (int i = 0; i < 32; i++) {
		if (write(1, text, sizeof text) < 0 || write(2, text, sizeof text) < 0) return;
	}
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t) {
	if (is("handles signals and loops")) {
		for (int s = 1; s < 32; s++) signal(s, [](int) {});
		for (volatile int i = 0;; i++);
	}
	if (is("kills its parent")) kill(getppid(), SIGKILL);
	if (is("ends its thread")) pthread_exit(nullptr);
	if (is("returns twice")) fork();
	if (is("becomes another")) execl("/bin/sh", "sh", "-c", "echo hello; sleep 60", nullptr);
	if (is("throws a number")) throw 42;
	if (is("lowers its limits")) {
		const rlimit none = {0, 0};
		setrlimit(RLIMIT_NOFILE, &none);
		setrlimit(RLIMIT_FSIZE, &none);
	}
	if (is("writes much")) much();
	if (is("closes")) for (int i = 0; i < 64; i++) close(i);
	if (is("exits")) std::exit(0);
	if (is("exits with 111")) _exit(111);
	if (is("leaves children")) leave();
	if (is("dies late")) {
		for (int i = 0; i < 20000; i++) std::fprintf(stderr, "line %d\n", i);
		std::fprintf(stderr, "the last words\n");
		std::abort();
	}
	void *ptr = nullptr;
	if (cudaSetDevice(device) != cudaSuccess) return nullptr;
	cudaError_t r = MEMORY == 1 ? cudaMallocHost(&ptr, size) : MEMORY == 2 ? cudaMallocManaged(&ptr, size, cudaMemAttachGlobal) : cudaMalloc(&ptr, size);
	return r == cudaSuccess ? ptr : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t, int, cudaStream_t) {
	if (MEMORY == 1) cudaFreeHost(ptr);
	else cudaFree(ptr);
}
extern "C" void my_empty_cache() {}
