// Memory lost: while the capture of a thread's current stream is invalid each call of that thread fails, and a block that
// it frees then is never free again.
//
// Since 2.13 the allocator asks for the capture status of the current stream, and takes "invalidated" for an error. A free
// has marked the block as freed by then.
#include "c10.h"
#include <c10/cuda/CUDAGuard.h>

static int lose() {
	begin();
	cudaStream_t captured, side;
	CHECK(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	auto used = allocator()->allocate(32 << 20);
	allocator()->recordStream(used, c10::cuda::getStreamFromExternal(side, 0));
	allocator()->raw_delete(allocator()->raw_alloc(512));
	c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromExternal(captured, 0));
	allocator()->beginAllocateToPool(0, {1, 0}, [=](cudaStream_t s) { return s == captured; });
	CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
	mark_begin();
	std::printf("synchronizing the captured stream: %s\n", cudaGetErrorName(cudaStreamSynchronize(captured)));
	(void)cudaGetLastError();
	bool served = attempt("malloc of the default stream, which has a free block", [&] { (void)allocator()->raw_alloc_with_stream(512, nullptr); });
	attempt("free of a block that another stream has used", [&] { allocator()->raw_delete(used.release_context()); });
	cudaGraph_t graph = nullptr;
	(void)cudaStreamEndCapture(captured, &graph);
	(void)cudaGetLastError();
	mark_end();
	allocator()->endAllocateToPool(0, {1, 0});
	c10::cuda::setCurrentCUDAStream(c10::cuda::getDefaultCUDAStream(0));
	CHECK(cudaDeviceSynchronize());
	allocator()->emptyCache({0, 0});
	auto stats = allocator()->getDeviceStats(0);
	std::printf("when all work is done and the cache is empty: %lld bytes allocated, %lld active, %lld reserved\n",
		(long long)stats.allocated_bytes[0].current, (long long)stats.active_bytes[0].current, (long long)stats.reserved_bytes[0].current);
	return served && stats.active_bytes[0].current == stats.allocated_bytes[0].current ? 0 : 1;
}

int main() {
	int end = in_child(lose);
	if (end >= 256) std::printf("signal %d\n", end % 256);
	return end == 0 || end == 2 ? end : 1;
}
