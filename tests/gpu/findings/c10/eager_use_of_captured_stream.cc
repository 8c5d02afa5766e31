// Crash: memory of an eager program that a captured stream has used is freed, and the second allocation after it crashes.
//
// Since 2.13 a free looks at the current stream of its thread, which is not captured. So it records the event of the use
// on the captured stream; querying that event fails, and it has been taken out of its queue by then.
#include "c10.h"

static int crash() {
	begin();
	cudaStream_t captured;
	CHECK(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
	allocator()->beginAllocateToPool(0, {1, 0}, [=](cudaStream_t s) { return s == captured; });
	CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
	mark_begin();
	auto a = allocator()->allocate(512);
	allocator()->recordStream(a, c10::cuda::getStreamFromExternal(captured, 0));
	attempt("free", [&] { a.clear(); });
	bool second = attempt("malloc", [&] { (void)allocator()->raw_alloc(512); });
	std::printf("the next malloc ...\n");
	bool third = attempt("malloc", [&] { (void)allocator()->raw_alloc(512); });
	return second && third ? 0 : 1;
}

int main() {
	int end = in_child(crash);
	std::printf(end >= 256 ? "signal %d\n" : "status %d\n", end % 256);
	return end == 0 || end == 2 ? end : 1;
}
