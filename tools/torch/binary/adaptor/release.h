// What PyTorch's releases from 2.8 on call differently: C++ that uses this compiles with the headers
// of each. TORCH_VERSION_MINOR is 11 with those of 2.11.
#ifndef GAUGEBLOCK_RELEASE_H
#define GAUGEBLOCK_RELEASE_H

#if __has_include(<torch/headeronly/version.h>) // from 2.10 on
#include <torch/headeronly/version.h>
#elif __has_include(<c10/core/AllocatorConfig.h>) // from 2.9 on
#define TORCH_VERSION_MINOR 9
#else
#define TORCH_VERSION_MINOR 8
#endif

#if TORCH_VERSION_MINOR >= 9
#include <c10/core/AllocatorConfig.h>
#endif
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#if TORCH_VERSION_MINOR >= 13
#include <c10/cuda/PeerToPeerAccess.h>
#endif

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*)(DeviceIndex));
}

namespace anytorch {

#if TORCH_VERSION_MINOR >= 11
using c10::CachingDeviceAllocator::RecordContext;
using c10::CachingDeviceAllocator::TraceEntry;
#else
using c10::cuda::CUDACachingAllocator::RecordContext;
using c10::cuda::CUDACachingAllocator::TraceEntry;
#endif
#if TORCH_VERSION_MINOR >= 10 // in 2.9 the new one does not reach the settings that are CUDA's
using c10::CachingAllocator::setAllocatorSettings;
#else
using c10::cuda::CUDACachingAllocator::setAllocatorSettings;
#endif
#if TORCH_VERSION_MINOR >= 9
using c10::MempoolId_t;
#else
using c10::cuda::MempoolId_t;
#endif

inline c10::cuda::CUDACachingAllocator::CUDAAllocator *allocator() { return c10::cuda::CUDACachingAllocator::get(); }

// start does for the allocator what torch does when it starts.
inline void start(const std::string &settings, int devices) {
	c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
	setAllocatorSettings(settings);
	allocator()->init(devices);
#if TORCH_VERSION_MINOR >= 13 // before, the allocator does it
	c10::cuda::detail::init_p2p_access_cache(devices);
#endif
}

[[noreturn]] inline void lacks(const char *what) {
	throw std::runtime_error(std::string("this release of PyTorch has no ") + what);
}

inline void setUseOnOOM(c10::DeviceIndex device, MempoolId_t pool, bool on) {
#if TORCH_VERSION_MINOR >= 11
	allocator()->setUseOnOOM(device, pool, on);
#else
	if (!on) lacks("way to take use_on_oom back");
	allocator()->setUseOnOOM(device, pool);
#endif
}

inline void setNoSplit([[maybe_unused]] c10::DeviceIndex device, [[maybe_unused]] MempoolId_t pool) {
#if TORCH_VERSION_MINOR >= 10
	allocator()->setNoSplit(device, pool);
#else
	lacks("no_split");
#endif
}

// markCapture says that a capture begins, or has ended, where CUDAGraph does: behind
// cudaStreamBeginCapture, and behind cudaStreamEndCapture.
inline void markCapture([[maybe_unused]] c10::DeviceIndex device, [[maybe_unused]] bool begins) {
#if TORCH_VERSION_MINOR >= 13
	if (begins) allocator()->markCaptureBegin(device);
	else allocator()->markCaptureEnd(device);
#endif
}

// makeRoomForMetadata: the thread's metadata has memory of its own, which mallocAt does not replace.
inline void makeRoomForMetadata() {
#if TORCH_VERSION_MINOR >= 13
	allocator()->setUserMetadata(std::string(64, ' '));
	allocator()->setUserMetadata("");
#endif
}

// mallocAt allocates for the current device and stream.
inline void mallocAt([[maybe_unused]] size_t size, [[maybe_unused]] void *at) {
#if TORCH_VERSION_MINOR >= 13
	(void)allocator()->allocateWithAddress(size, at).release_context();
#else
	lacks("allocation at an address");
#endif
}

inline void recordHistory(bool on, std::shared_ptr<c10::GatheredContext> (*gather)(), size_t entries, RecordContext level, bool clear,
	const std::vector<std::string> &skipped) {
#if TORCH_VERSION_MINOR >= 11
	allocator()->recordHistory(on, gather, entries, level, clear, skipped);
#else
	if (!skipped.empty()) lacks("actions that a history skips");
	allocator()->recordHistory(on, gather, entries, level, clear);
#endif
}

inline auto snapshot(MempoolId_t pool, [[maybe_unused]] bool traces) {
#if TORCH_VERSION_MINOR >= 11
	return allocator()->snapshot(pool, traces);
#else
	return allocator()->snapshot(pool);
#endif
}

} // namespace anytorch

#endif
