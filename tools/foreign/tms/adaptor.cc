// torch_memory_saver's own functions under the names by which a library is examined: it is
// told first that it is to manage what is allocated.
#include <cuda_runtime_api.h>
#include <sys/types.h>

extern "C" {
void *tms_torch_malloc(ssize_t bytes, int device, cudaStream_t stream);
void tms_torch_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream);
void tms_set_interesting_region(bool);

void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	tms_set_interesting_region(true);
	return tms_torch_malloc(bytes, device, stream);
}

void my_free(void *ptr, ssize_t bytes, int device, cudaStream_t stream) {
	tms_set_interesting_region(true);
	tms_torch_free(ptr, bytes, device, stream);
}
}
