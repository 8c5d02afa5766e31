// cuda::stream_ref of CCCL without its wrappers of the driver's interface and of all
// attributes of a device, which would need many more declarations: a stream's handle, and
// what RMM calls of it.
#pragma once
#include <cuda/std/detail/__config>
#include <cuda_runtime_api.h>
#include <stdexcept>

#include <cuda/__fwd/get_stream.h>
#include <cuda/std/__cccl/prologue.h>
_CCCL_BEGIN_NAMESPACE_CUDA

class stream_ref {
public:
	using value_type = ::cudaStream_t;

	stream_ref() = default;
	constexpr stream_ref(value_type s) noexcept : handle(s) {}
	stream_ref(int) = delete;
	stream_ref(decltype(nullptr)) = delete;

	friend constexpr bool operator==(stream_ref const &a, stream_ref const &b) noexcept { return a.handle == b.handle; }
	friend constexpr bool operator!=(stream_ref const &a, stream_ref const &b) noexcept { return a.handle != b.handle; }

	constexpr value_type get() const noexcept { return handle; }
	constexpr stream_ref query(::cuda::get_stream_t const &) const noexcept { return *this; }

	void sync() const {
		if (::cudaStreamSynchronize(handle) != ::cudaSuccess) {
			throw ::std::runtime_error("cudaStreamSynchronize");
		}
	}
	void wait() const { sync(); }
	bool is_done() const { return ::cudaStreamQuery(handle) == ::cudaSuccess; }
	bool ready() const { return is_done(); }

private:
	value_type handle{nullptr};
};

_CCCL_END_NAMESPACE_CUDA
#include <cuda/std/__cccl/epilogue.h>
