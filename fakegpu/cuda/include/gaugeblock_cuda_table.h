// How the libraries speak with the fake machine. The libraries are C; the machine is Go, and
// in a process there is one Go. So a Go program that wants the libraries in its own process
// registers itself as the machine, and in any other program the libraries load
// libgaugeblock_machine.so, which is the machine in a library.
//
// All goes through one function. It takes the number of an operation and at most eight
// 64-bit words, in which it also answers; its result is CUDA's number of an error.
#ifndef GAUGEBLOCK_CUDA_TABLE_H
#define GAUGEBLOCK_CUDA_TABLE_H

#include <stdint.h>

// The operations: name, and what the words are; those behind -> are answers.
#define GAUGEBLOCK_OPERATIONS(X) \
	X(COUNT)             /* -> 0 devices */ \
	X(PROPERTIES)        /* 0 device, 3 char[256] -> 1 bytes, 2 flags: 1 RDMA, 2 fabric */ \
	X(ATTRIBUTE)         /* 0 device, 1 CUDA's number of the attribute -> 2 value */ \
	X(MALLOC)            /* 0 device, 1 bytes -> 2 address */ \
	X(FREE)              /* 0 address */ \
	X(HOST_ALLOC)        /* fails if a capture forbids the host to allocate what devices can reach */ \
	X(HOST_ADD)          /* 0 address, 1 bytes: of the host's, that devices can reach */ \
	X(HOST_REMOVE)       /* 0 address */ \
	X(MEM_INFO)          /* 0 device -> 1 free, 2 total */ \
	X(POINTER)           /* 0 address -> 1 whether it is the device's, 2 device, 3 beginning, 4 bytes, 5 pool */ \
	X(EVENT_CREATE)      /* 0 device, 2 CUDA's flags -> 1 event */ \
	X(EVENT_ELAPSED)     /* 0 event, 1 later event -> 2 nanoseconds */ \
	X(EVENT_SHARE)       /* 0 event, 1 char[64] */ \
	X(EVENT_OPEN)        /* 0 char[64] -> 1 event */ \
	X(EVENT_RECORD)      /* 0 event, 1 device, 2 stream */ \
	X(EVENT_QUERY)       /* 0 event; not ready is an error */ \
	X(EVENT_SYNCHRONIZE) /* 0 event */ \
	X(EVENT_DESTROY)     /* 0 event */ \
	X(STREAM_CREATE)     /* 0 device, 2 CUDA's flags, 3 priority -> 1 stream */ \
	X(STREAM_DESTROY)    /* 0 device, 1 stream */ \
	X(STREAM_DEVICE)     /* 0 stream -> 1 device */ \
	X(STREAM_ID)         /* 0 device, 1 stream -> 2 id */ \
	X(STREAM_GET)        /* 0 device, 1 stream -> 2 CUDA's flags, 3 priority */ \
	X(STREAM_SYNCHRONIZE)/* 0 device, 1 stream, 2 for a copy: the driver's pools keep what they have */ \
	X(STREAM_QUERY)      /* 0 device, 1 stream */ \
	X(STREAM_WAIT)       /* 0 device, 1 stream, 2 event */ \
	X(DEVICE_SYNCHRONIZE)/* 0 device */ \
	X(CAPTURE_BEGIN)     /* 0 device, 1 stream, 2 mode */ \
	X(CAPTURE_END)       /* 0 device, 1 stream -> 2 graph */ \
	X(CAPTURE_INFO)      /* 0 device, 1 stream, 5 uint64[6 of them] -> 2 status, 3 id, 4 graph, 6 nodes */ \
	X(NODE_DEPENDENCIES) /* 0 node, 1 uint64[2 of them] -> 2 nodes */ \
	X(GRAPH_NODES)       /* 0 graph, 1 uint64[2 of them] -> 2 nodes */ \
	X(NODE_TYPE)         /* 0 node -> 1 CUDA's number of the type */ \
	X(GRAPH_EMPTY_NODE)  /* 0 graph, 1 uint64[2 of them] that it depends on -> 3 node */ \
	X(CAPTURE_DEPENDS)   /* 0 device, 1 stream, 2 uint64[3 of them] */ \
	X(GRAPH_MEMORY)      /* 0 device -> 1 bytes that launches have allocated, 2 bytes for graphs */ \
	X(GRAPH_INSTANTIATE) /* 0 graph -> 1 exec */ \
	X(GRAPH_LAUNCH)      /* 0 exec, 1 device, 2 stream */ \
	X(GRAPH_DESTROY)     /* 0 graph */ \
	X(EXEC_DESTROY)      /* 0 exec */ \
	X(RESERVE)           /* 0 device, 1 bytes -> 2 address */ \
	X(ADDRESS_FREE)      /* 0 address, 1 bytes */ \
	X(PAGE_CREATE)       /* 0 device, 1 bytes, 2 whether fabric -> 3 page */ \
	X(PAGE_RELEASE)      /* 0 page */ \
	X(PAGE_MAP)          /* 0 address, 1 bytes, 2 page */ \
	X(PAGE_ACCESS)       /* 0 address, 1 bytes, 2 device */ \
	X(PAGE_UNMAP)        /* 0 address, 1 bytes */ \
	X(PAGE_EXPORT)       /* 0 page, 1 whether fabric, 2 int * or char[64] */ \
	X(PAGE_IMPORT)       /* 0 whether fabric, 1 descriptor or char[64] -> 2 page */ \
	X(IPC_GET)           /* 0 address, 1 char[64] */ \
	X(IPC_OPEN)          /* 0 device, 1 char[64] -> 2 address */ \
	X(IPC_CLOSE)         /* 0 device, 1 address */ \
	X(PEER_CAN)          /* 0 device, 1 peer -> 2 whether */ \
	X(PEER_ENABLE)       /* 0 device, 1 peer */ \
	X(FILL)              /* 0 device, 1 stream, 2 address, 3 bytes, 4 byte */ \
	X(COPY)              /* 0 device, 1 stream, 2 to, 3 its device, 4 from, 5 its device, 6 bytes */ \
	X(COPY_IN)           /* 0 device, 1 stream, 2 to, 3 host memory, 4 bytes */ \
	X(COPY_OUT)          /* 0 device, 1 stream, 2 host memory, 3 from, 4 bytes */ \
	X(HOST_FUNCTION)     /* 0 device, 1 stream, 2 function, 3 its argument */ \
	X(LAUNCH)            /* 0 device, 1 stream, 2 name, 3 reads, 4 number of them, 5 writes, 6 number of them */ \
	X(KERNEL)            /* 0 device, 1 stream, 2 name, 3 bytes that it moves, 4 operations that it computes */ \
	X(COMPUTE)           /* 0 device, 1 stream, 2 uint64[7], as gaugeblock_kernel */ \
	X(BYTES_IN_HOST)     /* -> 0 whether */ \
	X(WAIT_VALUE)        /* 0 device, 1 stream, 2 uint32_t *, 3 value */ \
	X(POOL_MALLOC)       /* 0 device, 1 pool, 2 stream, 3 bytes -> 4 address */ \
	X(POOL_FREE)         /* 0 device, 1 address, 2 stream */ \
	X(POOL_CREATE)       /* 0 device, 2 most bytes, 0 for no limit, 3 whether it can be exported -> 1 pool */ \
	X(POOL_EXPORT)       /* 0 pool, 2 int * */ \
	X(POOL_IMPORT)       /* 1 descriptor -> 2 pool */ \
	X(PIECE_EXPORT)      /* 0 address -> 1 number */ \
	X(PIECE_IMPORT)      /* 0 pool, 1 number -> 2 address */ \
	X(POOL_DESTROY)      /* 0 pool */ \
	X(POOL_DEFAULT)      /* 0 device -> 1 pool */ \
	X(POOL_CURRENT)      /* 0 device -> 1 pool */ \
	X(POOL_MAKE_CURRENT) /* 0 device, 1 pool */ \
	X(POOL_TRIM)         /* 0 pool, 1 bytes to keep */ \
	X(POOL_GET)          /* 0 pool, 1 attribute -> 2 value */ \
	X(POOL_SET)          /* 0 pool, 1 attribute, 2 value */ \
	X(POOL_ACCESS)       /* 0 pool, 1 device */ \
	X(BUSY)              /* 0 device, 1 stream */ \
	X(DRAIN)             /* 0 device, 1 stream */ \
	X(SET_FREE)          /* 0 device, 1 bytes */ \
	X(FAULT)             /* 0 call, 1 nth, 2 error */ \
	X(ALLOCATED)         /* 0 device, 1 stream, 2 address, 3 bytes */ \
	X(FREED)             /* 0 address */ \
	X(TOUCHED)           /* 0 address, 1 whether it is written: by the host itself */ \
	X(RELEASE)           /* 0 address */ \
	X(ACQUIRE)           /* 0 address */ \
	X(WATCHDOG_LOOKS)    /* 0 enum gaugeblock_looks */ \
	X(HANDLE)            /* 0 device, 1 enum gaugeblock_handle: one was made */ \
	X(HAZARDS)           /* -> 0 how many */ \
	X(HAZARD)            /* 0 number, 1 char *, 2 its size -> 3 length */ \
	X(LACKS)             /* 0 name of a function that is not there */ \
	X(FINISH)            /* the program ends: the report is written */

enum gaugeblock_operation {
#define GAUGEBLOCK_NUMBER(name) GAUGEBLOCK_##name,
	GAUGEBLOCK_OPERATIONS(GAUGEBLOCK_NUMBER)
#undef GAUGEBLOCK_NUMBER
};

// Where NCCL's watchdog looks: at a place of the program, where a group of processes ends, and where the program does.
enum gaugeblock_looks { GAUGEBLOCK_AT_PLACE, GAUGEBLOCK_AT_END_OF_GROUP, GAUGEBLOCK_AT_END };

// Handles for which the driver takes memory. That of NCCL stands for the second one of cuBLAS.
enum gaugeblock_handle { GAUGEBLOCK_OF_CUBLAS, GAUGEBLOCK_OF_CUDNN, GAUGEBLOCK_OF_NCCL };

// The capture mode of the calling thread is in the number of the operation, from this bit on.
enum { GAUGEBLOCK_MODE = 16 };

typedef int (*gaugeblock_call)(int operation, uint64_t *words);

// gaugeblock_cuda_register makes a function the machine. It is in libcuda.so.1.
typedef void (*gaugeblock_register)(gaugeblock_call call);

// gaugeblock_machine_call is the machine in libgaugeblock_machine.so.

#endif
