// What the programs of this folder share: PyTorch's allocator by libc10_cuda.so alone, without Python.
#pragma once
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/headeronly/version.h>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>
#if TORCH_VERSION_MINOR >= 13
#include <c10/cuda/PeerToPeerAccess.h>
#endif

namespace c10::cuda::_internal { C10_CUDA_API void setHasPrimaryContext(bool (*)(DeviceIndex)); }

inline c10::cuda::CUDACachingAllocator::CUDAAllocator *allocator() { return c10::cuda::CUDACachingAllocator::get(); }

// begin initializes the allocator for device 0.
inline void begin() {
	c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
	allocator()->init(1);
#if TORCH_VERSION_MINOR >= 13
	c10::cuda::detail::init_p2p_access_cache(1);
#endif
}

// check ends the process with status 2 if a call that is no part of the fault fails.
inline void check(cudaError_t err, const char *call) {
	if (err == cudaSuccess) return;
	std::printf("%s: %s\n", call, cudaGetErrorString(err));
	std::fflush(stdout);
	_exit(2);
}
#define CHECK(call) check(call, #call)

// attempt says how a call ends, and returns whether it was done.
inline bool attempt(const char *what, const std::function<void()> &call) {
	bool done = true;
	std::string text = "done";
	try {
		call();
	} catch (const c10::Error &e) {
		done = false, text = e.what_without_backtrace();
	} catch (const std::exception &e) {
		done = false, text = e.what();
	}
	std::printf("%s: %s\n", what, text.substr(0, text.find('\n')).c_str());
	std::fflush(stdout);
	return done;
}

// mark says that a capture begins or ends, as torch.cuda.CUDAGraph does since 2.13.
inline void mark_begin() {
#if TORCH_VERSION_MINOR >= 13
	allocator()->markCaptureBegin(0);
#endif
}
inline void mark_end() {
#if TORCH_VERSION_MINOR >= 13
	allocator()->markCaptureEnd(0);
#endif
}

// in_child runs a function in a child process and returns how it ended: 0 to 255 its status, 256 and more a signal.
inline int in_child(const std::function<int()> &function) {
	std::fflush(stdout);
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		status = function();
		std::fflush(stdout);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}
