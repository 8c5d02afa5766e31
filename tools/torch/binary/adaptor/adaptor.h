// How Go speaks with PyTorch's allocator: one function, the number of an operation, and a
// structure with what it is given and what it answers.
#ifndef GAUGEBLOCK_TORCH_ADAPTOR_H
#define GAUGEBLOCK_TORCH_ADAPTOR_H

#include <stddef.h>
#include <stdint.h>

enum {
	TORCH_RESET,          // 0 number of devices
	TORCH_MALLOC,         // 0 device, 1 stream, 2 bytes -> address
	TORCH_MALLOC_AT,      // 0 device, 1 stream, 2 bytes, 3 address (from 2.13 on)
	TORCH_FREE,           // 0 address
	TORCH_RECORD_STREAM,  // 0 address, 1 device, 2 stream
	TORCH_EMPTY_CACHE,    // 0, 1 pool
	TORCH_SET_FRACTION,   // 0 device, fraction
	TORCH_GET_FRACTION,   // 0 device -> fraction
	TORCH_CONFIGURE,      // text
	TORCH_RESET_PEAK,     // 0 device
	TORCH_RESET_SUMS,     // 0 device
	TORCH_ENABLE,         // 0 whether
	TORCH_STATS,          // 0 device
	TORCH_SNAPSHOT,       // 0, 1 pool -> words
	TORCH_BASE,           // 0 address -> address, words: bytes
	TORCH_CACHE_INFO,     // 0 device, 1 at least -> address: bytes
	TORCH_POOL_CREATE,    // 0 device, 1, 2 pool, 3 use on OOM, 4 no split
	TORCH_POOL_BEGIN,     // 0 device, 1, 2 pool, 3 number of the filter
	TORCH_POOL_END,       // 0 device, 1, 2 pool
	TORCH_POOL_RELEASE,   // 0 device, 1, 2 pool
	TORCH_POOL_USES,      // 0 device, 1, 2 pool -> address: count
	TORCH_POOL_ON_OOM,    // 0 device, 1, 2 pool, 3 whether
	TORCH_POOL_NO_SPLIT,  // 0 device, 1, 2 pool
	TORCH_CHECKPOINT,     // 0 device, 1, 2 pool -> address: number of the state
	TORCH_RESTORE,        // 0 device, 1 state -> words: freed, created, each with its number before
	TORCH_CHECK_LIVE,     // 0 device, 1, 2 pool, words: addresses -> address: whether
	TORCH_SIZES,          // 0 device -> words: stream, small, bytes
	TORCH_PEER,           // 0 device, 1 peer
	TORCH_SHARE,          // 0 address -> address: offset, text: handle
	TORCH_OPEN,           // text: handle -> address, words: number of what was opened
	TORCH_CLOSE,          // 0 number of what was opened
	TORCH_HISTORY,        // 0 on, 1 entries, 2 clear, 3 level, text: actions to skip, a line each
	TORCH_HISTORY_ON,     // -> address: whether
	TORCH_RING,           // 0 device -> entries of the history
	TORCH_ANNOTATE,       // text: key and value, a line each
	TORCH_PUSH_CONTEXT,   // text
	TORCH_POP_CONTEXT,
	TORCH_SET_METADATA,   // text
	TORCH_GET_METADATA,   // -> text
	TORCH_MARK_CAPTURE,   // 0 device, 1 whether a capture begins; else one has ended (from 2.13 on)
	TORCH_WAITS,          // the malloc that ran waits: what was traced so far -> entries
	TORCH_GOES_ON,        // a malloc that waits goes on, and answers when it ends
};

// How a call ended.
enum {
	TORCH_OK,
	TORCH_OUT_OF_MEMORY, // c10::OutOfMemoryError
	TORCH_CUDA,          // c10::AcceleratorError; code is CUDA's
	TORCH_ERROR,         // another c10::Error: a check or an assertion
	TORCH_OTHER,
};

enum { TORCH_FIGURES = 122, TORCH_TEXT = 1 << 16 };

typedef struct {
	uint64_t action, device, address, size, stream, pool[2];
} gaugeblock_torch_entry;

typedef struct {
	uint64_t given[8];
	double fraction;
	int32_t figures_of; // after the call the figures of this device; -1: of none
	int32_t kind, code;
	int32_t current_device; // the caller's current stream is current_stream of this device, and of the others the default one
	uint64_t current_stream;

	uint64_t address;
	uint64_t num_entries; // what was traced meanwhile
	const gaugeblock_torch_entry *entries;
	uint64_t num_words;
	uint64_t *words;
	int64_t figures[TORCH_FIGURES];

	uint64_t text_bytes;
	char text[TORCH_TEXT];
	uint64_t message_bytes;
	char message[TORCH_TEXT];

	// What an observer of running out of memory heard, if there was one.
	uint64_t oom_calls, oom_device, oom_size, oom_total, oom_free;
} gaugeblock_torch;

// What the adaptor asks Go meanwhile.
typedef struct {
	int (*filter)(uint64_t number, uint64_t stream); // whether a filter accepts a stream
	int (*need_memory)(void);                        // whether memory was freed
} gaugeblock_torch_callbacks;

typedef void (*gaugeblock_torch_call)(int operation, gaugeblock_torch *x);
typedef const char *(*gaugeblock_torch_start)(const gaugeblock_torch_callbacks *callbacks);

// The library has gaugeblock_torch_call_ and gaugeblock_torch_start_, which says what is wrong.

#endif
