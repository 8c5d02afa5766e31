// Package arena is an allocator to examine: the caching allocator of a Rust library. Its
// blocks are in a list and refer to each other by index (an index arena), it has two
// ordered pools of free blocks, and its user makes the driver calls. It follows PyTorch's
// allocator with some differences. It is here twice: as it was found (Seed), and made safe
// (Safe). tests/arena/README.md has the findings.
//
//	size.go                       the sizes of blocks and segments
//	freepool.go                   the ordered pools
//	arena.go                      blocks: split and merge
//	cache.go                      allocation
//	seed.go                       free, as it was found
//	safe.go                       free, made safe
//	segments.go                   what both users have
//	user_seed.go, user_safe.go    the users, which implement spec.Allocator
//	statistics.go, inspect.go     statistics, snapshots and inspection
package arena
