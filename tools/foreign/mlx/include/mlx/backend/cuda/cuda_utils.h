// What MLX's allocator needs of the rest of MLX.
#pragma once
#include <cuda_runtime.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace mlx::core {
inline void check(cudaError_t error, const char *call) {
	if (error != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(error));
}
#define CHECK_CUDA_ERROR(call) ::mlx::core::check(call, #call)

namespace cu {
class Device {
public:
	explicit Device(int device) : device_(device) {}
	bool concurrent_managed_access() const { return true; }
	bool memory_pools() const { return true; }
	int cuda_device() const { return device_; }
	void make_current() { CHECK_CUDA_ERROR(cudaSetDevice(device_)); }

private:
	int device_;
};
inline Device &device(int i) {
	static std::vector<Device> all = {Device(0), Device(1), Device(2), Device(3)};
	return all[size_t(i)];
}

// CudaStream is a stream of a device, or none.
class CudaStream {
public:
	CudaStream() = default;
	explicit CudaStream(Device &d) {
		d.make_current();
		CHECK_CUDA_ERROR(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
	}
	operator cudaStream_t() const { return stream_; }

private:
	cudaStream_t stream_ = nullptr;
};

class CommandEncoder {
public:
	Device &device() { return cu::device(0); }
	cudaStream_t stream() { return nullptr; }
};
} // namespace cu

namespace gpu {
inline int device_count() {
	int n = 0;
	cudaGetDeviceCount(&n);
	return n;
}
} // namespace gpu
namespace scheduler {
inline void scheduler() {}
} // namespace scheduler
inline size_t next_power_of_2(size_t n) {
	size_t p = 1;
	while (p < n) p *= 2;
	return p;
}
} // namespace mlx::core
