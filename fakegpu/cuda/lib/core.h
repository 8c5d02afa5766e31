// What the libraries share: the way to the machine, and what a thread has set. core.c is in
// libcuda.so.1; the others find these functions there.
#ifndef GAUGEBLOCK_CORE_H
#define GAUGEBLOCK_CORE_H

#include "gaugeblock_cuda_table.h"

#include <stddef.h>
#include <stdint.h>

#define GAUGEBLOCK_API __attribute__((visibility("default")))

enum {
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	SYMBOL_NOT_FOUND = 500,
	NOT_READY = 600,
	PEER_ALREADY = 704,
	NOT_PERMITTED = 800,
	NOT_SUPPORTED = 801,
	MAX_DEVICES = 16,
	MAX_NODES = 4096,
};

GAUGEBLOCK_API int gaugeblock_bytes_in_host(void);

// gaugeblock_do performs an operation of the machine.
GAUGEBLOCK_API int gaugeblock_do(int operation, uint64_t *words);

// The device that is current on the calling thread. -1: none, in the driver's interface;
// the runtime's takes device 0 then.
GAUGEBLOCK_API int gaugeblock_current(void);

// gaugeblock_initialized reports whether cuInit or the runtime has been called.
GAUGEBLOCK_API int gaugeblock_initialized(void);
GAUGEBLOCK_API void gaugeblock_initialize(void);

GAUGEBLOCK_API int gaugeblock_current_runtime(void);

// gaugeblock_pushed is how many contexts the calling thread has pushed and not popped.
GAUGEBLOCK_API int gaugeblock_pushed(void);
GAUGEBLOCK_API void gaugeblock_make_current(int device);

// gaugeblock_runtime_uses reports whether the runtime's interface has used a device.
GAUGEBLOCK_API int gaugeblock_runtime_uses(int device);

// gaugeblock_make_own_stream makes a stream of the machine the default stream that the calling
// thread has on a device (cudaStreamPerThread).
GAUGEBLOCK_API void gaugeblock_make_own_stream(int device, uint64_t number);

// gaugeblock_mode is the capture mode of the calling thread (cudaThreadExchangeStreamCaptureMode).
GAUGEBLOCK_API int gaugeblock_mode(int exchange, int mode);

// gaugeblock_lacks says that a function is not there, once a name, and is NOT_SUPPORTED.
GAUGEBLOCK_API int gaugeblock_lacks(const char *function);

// gaugeblock_stream gives the machine's number of a stream, and its device; the default
// streams are of the given current device.
GAUGEBLOCK_API int gaugeblock_stream(const void *stream, int current, uint64_t *number, uint64_t *device);

GAUGEBLOCK_API const char *gaugeblock_error_name(int error, int runtime);
GAUGEBLOCK_API const char *gaugeblock_error_text(int error);

// gaugeblock_entry finds a function of the driver by the name that headers have for it, in its newest
// form; gaugeblock_entry_of in that of a version of CUDA. The status is the driver's number of why
// there is none.
GAUGEBLOCK_API void *gaugeblock_entry(const char *name);
GAUGEBLOCK_API void *gaugeblock_entry_of(const char *name, int version, int *status);

// gaugeblock_attribute is an attribute of the current device, by CUDA's number of it.
GAUGEBLOCK_API int gaugeblock_attribute(int attribute);

// gaugeblock_occupancy is how many blocks of this number of threads and bytes of shared memory
// a multiprocessor takes at a time, of a kernel that needs few registers.
GAUGEBLOCK_API int gaugeblock_occupancy(int threads, size_t shared);

// gaugeblock_launch_kernel gives a stream a kernel of which nothing but the name is known, and
// gaugeblock_launch_sized one that moves so many bytes and computes so many operations of single precision.
GAUGEBLOCK_API int gaugeblock_launch_kernel(const char *name, void *stream);
GAUGEBLOCK_API int gaugeblock_launch_sized(const char *name, void *stream, uint64_t bytes, uint64_t operations);
// gaugeblock_launch_of is the same for a kernel of code that has others as well; NULL: it is alone.
GAUGEBLOCK_API int gaugeblock_launch_of(const void *code, const char *name, void *stream, uint64_t bytes, uint64_t operations);

// Memory of the host's that devices can reach: hostmemory.c. The functions that free are given the
// kind; what is not of it is INVALID_VALUE.
enum { HOST_PINNED, HOST_REGISTERED, HOST_MANAGED };
enum { HOST_NOT_REACHED = 1 << 30 };     // a flag: devices may not touch it yet
enum { HOST_GUARDED = 1 << 29 };         // a flag: see gaugeblock_host_guard
enum { NOWHERE = -2, ON_HOST = -1 }; // places beside the devices
typedef struct {
	uintptr_t from, to;
	int kind;
	unsigned flags;
	int device;                          // that was current
	int fetched, preferred, mostly_read; // of managed memory
} HostMemory;
GAUGEBLOCK_API int gaugeblock_host_alloc(void **ptr, size_t bytes, int kind, unsigned flags);
GAUGEBLOCK_API int gaugeblock_host_free(void *ptr, int kind);
GAUGEBLOCK_API int gaugeblock_pin(void *ptr, size_t bytes, unsigned flags);
GAUGEBLOCK_API int gaugeblock_unpin(void *ptr);
void gaugeblock_host_reach(const void *ptr);
GAUGEBLOCK_API int gaugeblock_host_find(const void *ptr, HostMemory *found);
void gaugeblock_host_change(const void *ptr, const HostMemory *as);

// gaugeblock_host_guard makes the next touch of pinned and managed memory by the program a segmentation fault.
// gaugeblock_host_unguard gives the piece back that has an address, if it is such memory: for a handler of signals.
GAUGEBLOCK_API void gaugeblock_host_guard(void);
GAUGEBLOCK_API int gaugeblock_host_unguard(const void *ptr);

// Pools of such memory: hostpools.c.
int gaugeblock_is_host_pool(const void *pool);
int gaugeblock_host_pool(void **pool, int kind);
int gaugeblock_host_pool_of(void **pool, int kind); // the standard one
int gaugeblock_host_pool_destroy(void *pool);
int gaugeblock_host_pool_reached(void *pool); // by devices: pinned memory is not, before
int gaugeblock_host_pool_malloc(void **ptr, size_t bytes, void *pool);
int gaugeblock_host_pool_free(void *ptr, uint64_t device, uint64_t stream);
int gaugeblock_host_pool_get(void *pool, int attribute, uint64_t *value);

// Values that are known beside the device: values.c.
GAUGEBLOCK_API void gaugeblock_uploaded(void *to, const void *from, size_t bytes);
GAUGEBLOCK_API void gaugeblock_transferred(void *to, const void *from, size_t bytes, int sure);
GAUGEBLOCK_API void gaugeblock_downloaded(void *to, const void *from, size_t bytes);
GAUGEBLOCK_API void gaugeblock_copied(void *to, const void *from, size_t bytes);
GAUGEBLOCK_API void gaugeblock_filled(void *to, int value, size_t bytes);
GAUGEBLOCK_API void gaugeblock_touched(uint64_t address);
GAUGEBLOCK_API void gaugeblock_replayed(void);
GAUGEBLOCK_API void gaugeblock_capturing(int more);

// The code of kernels: parameters.c. gaugeblock_image_bytes is 0 if an image is no cubin;
// gaugeblock_parameters is how many parameters a kernel has, with the bytes of each.
enum { MAX_PARAMETERS = 256 };
size_t gaugeblock_image_bytes(const void *image);
int gaugeblock_parameters(const void *image, const char *kernel, unsigned short sizes[MAX_PARAMETERS]);

// gaugeblock_known copies what is known of memory. 0: nothing is, 1: it is assumed, 2: it is known.
GAUGEBLOCK_API int gaugeblock_known(const void *from, size_t bytes, void *into);

// gaugeblock_expected says that memory will have what settle tells: it waits for it, writes it into the room
// given and answers as gaugeblock_known. It is called once, without room if nobody wants to know.
typedef int (*gaugeblock_settle)(void *data, void *into);
GAUGEBLOCK_API void gaugeblock_expected(void *to, size_t bytes, gaugeblock_settle settle, void *data);

// gaugeblock_ended keeps an error as the thread's last one, in the runtime's interface.
int gaugeblock_ended(int result);

// gaugeblock_nodes is room for the nodes that a capture's next node depends on; it is the
// thread's, and good until its next call.
GAUGEBLOCK_API uint64_t *gaugeblock_nodes(void);

// gaugeblock_is_default reports whether a stream is one of the default streams.
static inline int gaugeblock_is_default(const void *stream) { return (uintptr_t)stream <= 2; }

// gaugeblock_capture_info answers the calls that ask about a stream's capture. Each pointer
// but that of the status may be NULL.
GAUGEBLOCK_API int gaugeblock_capture_info(uint64_t device, uint64_t number, int *status, uint64_t *id, void **graph,
	const void *const **nodes, const void **edges, size_t *count);

// gaugeblock_node_dependencies writes the nodes that a node depends on, at most as many as the
// count says, and how many there are. nodes and edges may be NULL.
GAUGEBLOCK_API int gaugeblock_node_dependencies(const void *node, void **nodes, void *edges, size_t *count);

#define WORDS(...) uint64_t w[8] = {__VA_ARGS__}
#define P(x) ((uint64_t)(uintptr_t)(x))

#endif
