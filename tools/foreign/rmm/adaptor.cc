// RMM's memory resources with PyTorch's pluggable ABI: one resource for each device, made
// when it is first needed and never destroyed. RESOURCE_pool, fixed, binning or arena chooses the
// resource. GENERATION is that of RMM's interface: 1 templates that allocate(bytes, stream), 2 templates
// that allocate(stream, bytes), 3 classes.
//
// The resources are small, so that memory of one stream soon serves another.
// FOREIGN_BYTES is the size of the pool or arena at first, and FOREIGN_MAXIMUM that of the
// pool at most; the arena does not grow.
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#if GENERATION == 1
#define RMM_HEADER(name) <rmm/mr/device/name##_memory_resource.hpp>
#else
#define RMM_HEADER(name) <rmm/mr/name##_memory_resource.hpp>
#endif
#include RMM_HEADER(arena)
#include RMM_HEADER(binning)
#include RMM_HEADER(cuda)
#include RMM_HEADER(fixed_size)
#include RMM_HEADER(pool)

namespace {

std::size_t bytes_of(char const *variable, std::size_t otherwise) {
	char const *given = std::getenv(variable);
	return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

constexpr std::size_t MiB = 1 << 20;

#if GENERATION == 3
using Cuda = rmm::mr::cuda_memory_resource;
using Pool = rmm::mr::pool_memory_resource;
using Fixed = rmm::mr::fixed_size_memory_resource;
using Binning = rmm::mr::binning_memory_resource;
using Arena = rmm::mr::arena_memory_resource;
#define UPSTREAM(r) r
#else
using Cuda = rmm::mr::cuda_memory_resource;
using Pool = rmm::mr::pool_memory_resource<Cuda>;
using Fixed = rmm::mr::fixed_size_memory_resource<Cuda>;
using Binning = rmm::mr::binning_memory_resource<Pool>;
using Arena = rmm::mr::arena_memory_resource<Cuda>;
#define UPSTREAM(r) &(r)
#endif

// Resource is what one device has.
struct Resource {
	Cuda cuda;
#if defined(RESOURCE_pool)
	Pool resource{UPSTREAM(cuda), bytes_of("FOREIGN_BYTES", 1 * MiB), bytes_of("FOREIGN_MAXIMUM", 256 * MiB)};
#elif defined(RESOURCE_fixed)
	Fixed resource{UPSTREAM(cuda), 2 * MiB, 4};
#elif defined(RESOURCE_binning)
	Pool pool{UPSTREAM(cuda), bytes_of("FOREIGN_BYTES", 1 * MiB), bytes_of("FOREIGN_MAXIMUM", 256 * MiB)};
	Binning resource{UPSTREAM(pool), 12, 18}; // bins of 4 KiB to 256 KiB
#elif defined(RESOURCE_arena)
	Arena resource{UPSTREAM(cuda), bytes_of("FOREIGN_BYTES", 64 * MiB)};
#endif
};

// The log is off: a pool that is full says so, at every request. Older versions write a file.
[[maybe_unused]] int const quiet = [] {
#if GENERATION == 1
	setenv("RMM_DEBUG_LOG_FILE", "/dev/null", 0);
	rmm::logger().set_level(spdlog::level::off);
#else
	rmm::default_logger().set_level(rapids_logger::level_enum::off);
#endif
	return 0;
}();

std::mutex mutex;
std::map<int, std::unique_ptr<Resource>> &resources = *new std::map<int, std::unique_ptr<Resource>>;

// of finds a device's resource. As RMM demands, the device is current when its resource is
// made and used.
Resource &of(int device) {
	std::lock_guard<std::mutex> lock(mutex);
	auto &r = resources[device];
	if (r == nullptr) {
		r = std::make_unique<Resource>();
	}
	return *r;
}

// Current makes a device current, for a while.
struct Current {
	int before = 0;
	explicit Current(int device) {
		cudaGetDevice(&before);
		cudaSetDevice(device);
	}
	~Current() { cudaSetDevice(before); }
};

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	Current current(device);
	try {
#if GENERATION == 1
		return of(device).resource.allocate(bytes, rmm::cuda_stream_view{stream});
#else
		return of(device).resource.allocate(rmm::cuda_stream_view{stream}, bytes, 256);
#endif
	} catch (rmm::bad_alloc const &) {
		return nullptr;
	}
}

EXPORT void my_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream) {
	Current current(device);
#if GENERATION == 1
	of(device).resource.deallocate(ptr, bytes, rmm::cuda_stream_view{stream});
#else
	of(device).resource.deallocate(rmm::cuda_stream_view{stream}, ptr, bytes, 256);
#endif
}
