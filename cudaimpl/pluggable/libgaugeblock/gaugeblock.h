// The functions of libgaugeblock.so. A stream is a cudaStream_t, a device its number.
//
// The settings are read from PYTORCH_ALLOC_CONF (or PYTORCH_CUDA_ALLOC_CONF) at the first
// call. With GAUGEBLOCK_TRACE=file all calls are written to the file as a trace.
// GAUGEBLOCK_RELEASE=2.15 says which release of PyTorch is followed (2.11 without it).
#ifndef GAUGEBLOCK_H
#define GAUGEBLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The id of a pool: std::pair<unsigned long long, unsigned long long> is passed like it.
typedef struct {
	uint64_t capture, user;
} gaugeblock_pool;

#ifndef GAUGEBLOCK_TYPES_ONLY

// The pair of functions of a plugged-in allocator. NULL from malloc says that there is no
// memory, unless size is 0; gaugeblock_last_error says more. free takes the size, device
// and stream for nothing: the allocator knows them.
void *gaugeblock_malloc(size_t size, int device, void *stream);
void gaugeblock_free(void *ptr, size_t size, int device, void *stream);

// The hooks, by the names of PyTorch's setters.
void gaugeblock_init(int devices);                                // set_init_fn
void gaugeblock_reset(void);                                      // set_reset_fn
void gaugeblock_memory_fraction(double fraction, int device);     // set_memory_fraction_fn
void *gaugeblock_base_alloc(void *ptr, size_t *size);             // set_base_alloc_fn
void gaugeblock_record_stream(void *ptr, void *stream);           // set_record_stream_fn
void gaugeblock_end_allocate_to_pool(int device, gaugeblock_pool); // set_end_allocate_to_pool_fn
void gaugeblock_release_pool(int device, gaugeblock_pool);        // set_release_pool

// Diverts to the pool the requests for the streams that accepts says 1 of; it is called
// with filter, from then on until the matching end, and drop once after that.
// (set_begin_allocate_to_pool takes gaugeblock_torch_begin_allocate_to_pool.)
void gaugeblock_begin_allocate_to_pool(int device, gaugeblock_pool,
	int (*accepts)(void *filter, void *stream), void (*drop)(void *filter), void *filter);

// Gives a device access to the memory of another, which copies between devices need with
// expandable_segments:True. PyTorch has no setter for it: the program calls it.
void gaugeblock_enable_peer_access(int device, int peer);

// Texts, to be given back with gaugeblock_free_text: what went wrong last (empty if nothing
// has); a device's figures, as torch.cuda.memory_stats has them, and a picture of all
// memory, as torch.cuda.memory._snapshot has it, both in JSON.
char *gaugeblock_last_error(void);
char *gaugeblock_stats(int device);
char *gaugeblock_snapshot(void);
void gaugeblock_free_text(char *text);

void gaugeblock_reset_peak_stats(int device);

// Writes the trace; later calls are not in it. 0 if all went well. It is called at the end
// of a program that ends in the usual way.
int gaugeblock_close_log(void);

#endif

#ifdef __cplusplus
}
#endif

#endif
