// cudaGetDeviceProperties, whose structure CUDA 13 has changed: fields that it no longer has are
// between OLD( and ).
#include "core.h"

#include <string.h>

#if GAUGEBLOCK_CUDART < 13
#define OLD(...) __VA_ARGS__
#else
#define OLD(...)
#endif

struct properties {
	char name[256], uuid[16], luid[8];
	unsigned luid_mask;
	size_t total, shared_of_block;
	int registers_of_block, warp;
	size_t pitch;
	int threads_of_block, block[3], grid[3];
	OLD(int clock;)
	size_t constants;
	int major, minor;
	size_t texture_alignment, texture_pitch_alignment;
	OLD(int overlap;)
	int processors;
	OLD(int timeout;)
	int integrated, maps_host_memory;
	OLD(int compute_mode;)
	int texture_1d, texture_1d_mipmap;
	OLD(int texture_1d_linear;)
	int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2], texture_3d[3], texture_3d_other[3];
	int texture_cube, texture_1d_layered[2], texture_2d_layered[3], texture_cube_layered[2];
	int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cube, surface_cube_layered[2];
	size_t surface_alignment;
	int concurrent_kernels, error_correction, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified_addressing;
	OLD(int memory_clock;)
	int bus_width, l2, persisting_l2, threads_of_processor, stream_priorities, global_l1, local_l1;
	size_t shared_of_processor;
	int registers_of_processor, managed, multi_gpu_board, board_group, host_atomics;
	OLD(int single_to_double;)
	int pageable, concurrent_managed, preemption, registered_pointer, cooperative;
	OLD(int cooperative_multi_device;)
	size_t shared_opt_in;
	int pageable_host_tables, direct_managed, blocks_of_processor, access_window;
	size_t shared_reserved;
	int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, pools, rdma;
	unsigned rdma_flush;
	int rdma_ordering;
	unsigned pool_handles;
	int deferred_arrays, event_ipc, clusters, unified_functions;
	OLD(int reserved_2[2], reserved_1[1];)
	int reserved[60];
};

#if GAUGEBLOCK_CUDART >= 13
_Static_assert(offsetof(struct properties, unified_functions) == 752, "the layout is CUDA 13's");
#else
_Static_assert(sizeof(struct properties) == 1032, "the layout is CUDA 12's");
#endif

// Which attribute a field is, in CUDA's numbers.
static const struct { size_t offset; int attribute; char wide; } fields[] = {
#define INT(field, attribute) {offsetof(struct properties, field), attribute, 0}
#define SIZE(field, attribute) {offsetof(struct properties, field), attribute, 1}
	INT(threads_of_block, 1), INT(block[0], 2), INT(block[1], 3), INT(block[2], 4), INT(grid[0], 5), INT(grid[1], 6), INT(grid[2], 7),
	SIZE(shared_of_block, 8), SIZE(constants, 9), INT(warp, 10), SIZE(pitch, 11), INT(registers_of_block, 12),
	SIZE(texture_alignment, 14), INT(processors, 16), INT(integrated, 18), INT(maps_host_memory, 19), INT(concurrent_kernels, 31),
	INT(error_correction, 32), INT(bus_width, 37), INT(l2, 38), INT(threads_of_processor, 39), INT(copy_engines, 40),
	INT(unified_addressing, 41), SIZE(texture_pitch_alignment, 51), INT(major, 75), INT(minor, 76), INT(stream_priorities, 78),
	INT(global_l1, 79), INT(local_l1, 80), SIZE(shared_of_processor, 81), INT(registers_of_processor, 82), INT(managed, 83),
	INT(pageable, 88), INT(concurrent_managed, 89), INT(preemption, 90), INT(registered_pointer, 91), INT(cooperative, 95),
	SIZE(shared_opt_in, 97), INT(host_register, 99), INT(blocks_of_processor, 106), INT(persisting_l2, 108),
	INT(access_window, 109), SIZE(shared_reserved, 111), INT(sparse_arrays, 112), INT(host_register_read_only, 113),
	INT(timeline_semaphores, 114), INT(pools, 115), INT(rdma, 116), INT(clusters, 120), INT(unified_functions, 129),
#if GAUGEBLOCK_CUDART < 13
	INT(clock, 13), INT(overlap, 15), INT(memory_clock, 36), INT(single_to_double, 87),
#endif
};

GAUGEBLOCK_API int cudaGetDeviceProperties(struct properties *p, int device) {
	if (p == NULL) {
		return INVALID_VALUE;
	}
	char name[256] = "";
	WORDS((uint64_t)device, 0, 0, P(name));
	int r = gaugeblock_ended(gaugeblock_do(GAUGEBLOCK_PROPERTIES, w));
	if (r != 0) {
		return r;
	}
	memset(p, 0, sizeof *p);
	memcpy(p->name, name, sizeof name);
	p->total = w[1];
	p->uuid[0] = (char)(device + 1);
	p->pci_bus = device + 1;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint64_t a[8] = {(uint64_t)device, (uint64_t)fields[i].attribute};
		gaugeblock_do(GAUGEBLOCK_ATTRIBUTE, a);
		char *field = (char *)p + fields[i].offset;
		if (fields[i].wide) {
			*(size_t *)field = a[2];
		} else {
			*(int *)field = (int)a[2];
		}
	}
	return 0;
}

GAUGEBLOCK_API int cudaGetDeviceProperties_v2(struct properties *p, int device) { return cudaGetDeviceProperties(p, device); }
