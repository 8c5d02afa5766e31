// Not a fault, but a decision that has changed: which of two free blocks of the same size serves a request.
//
// Up to 2.11 the one at the lower address, since 2.12 the one that was made first. Real drivers give addresses in either
// order, so a program can have another layout, and other fragmentation, with the same requests. Exit status 2 if the
// driver's addresses do not tell.
#include "c10.h"

int main() {
	begin();
	constexpr size_t MiB = 1 << 20;
	for (int attempts = 0; attempts < 64; attempts++) {
		char *older = (char *)allocator()->raw_alloc(40 * MiB), *younger = (char *)allocator()->raw_alloc(40 * MiB);
		if (younger > older) continue; // both stay allocated, so that the next two lie elsewhere
		allocator()->raw_delete(older);
		allocator()->raw_delete(younger);
		char *served = (char *)allocator()->raw_alloc(40 * MiB);
		std::printf("%s\n", served == older ? "the block that was made first" : "the block at the lower address");
		return 0;
	}
	std::printf("no younger segment lies below an older one\n");
	return 2;
}
