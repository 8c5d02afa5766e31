// Every later malloc fails: a free is deferred by a capture that then becomes invalid. A malloc for another stream is to
// record the event of that free on the captured stream, which CUDA refuses; the allocator has begun to by then, and asserts
// at each malloc from then on, also when the capture has ended.
//
// Since 2.13 a capture counts while the current stream is the captured one: a thread that frees on it defers, and with
// another current stream it is to record the events while the capture still goes on.
#include "c10.h"
#include <c10/cuda/CUDAGuard.h>

static int fail() {
	begin();
	cudaStream_t captured;
	CHECK(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
	auto used = allocator()->allocate(20 << 20);
	allocator()->recordStream(used, c10::cuda::getStreamFromExternal(captured, 0));
	allocator()->beginAllocateToPool(0, {1, 0}, [=](cudaStream_t s) { return s == captured; });
	CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
	mark_begin();
	c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromExternal(captured, 0));
	attempt("free of a block that the captured stream has used", [&] { allocator()->raw_delete(used.release_context()); });
	std::printf("synchronizing the captured stream: %s\n", cudaGetErrorName(cudaStreamSynchronize(captured)));
	(void)cudaGetLastError();
	c10::cuda::setCurrentCUDAStream(c10::cuda::getDefaultCUDAStream(0));
	for (int i = 0; i < 2; i++) attempt("malloc of the default stream", [&] { (void)allocator()->raw_alloc_with_stream(20 << 20, nullptr); });
	cudaGraph_t graph = nullptr;
	(void)cudaStreamEndCapture(captured, &graph);
	(void)cudaGetLastError();
	mark_end();
	allocator()->endAllocateToPool(0, {1, 0});
	CHECK(cudaDeviceSynchronize());
	return attempt("malloc of the default stream, when the capture has ended", [&] { (void)allocator()->raw_alloc_with_stream(20 << 20, nullptr); }) ? 0 : 1;
}

int main() {
	int end = in_child(fail);
	if (end >= 256) std::printf("signal %d\n", end % 256);
	return end == 0 || end == 2 ? end : 1;
}
