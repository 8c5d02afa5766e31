// Package arena is an allocator to examine: the caching allocator of a Rust library. Its
// blocks are in a list and refer to each other by index (an index arena), it has two
// ordered pools of free blocks, and its user makes the driver calls. It follows PyTorch's
// allocator with some differences. It is here twice: as it was found (Seed), and made safe
// (Safe). tests/arena/README.md has the findings.
//
//	size_test.go                              the sizes of blocks and segments
//	freepool_test.go                          the ordered pools
//	blocks_test.go                            blocks: split and merge
//	cache_test.go                             allocation
//	seed_test.go                              free, as it was found
//	safe_test.go                              free, made safe
//	segments_test.go                          what both users have
//	user_seed_test.go, user_safe_test.go      the users, which implement spec.Allocator
//	statistics_test.go, inspect_test.go       statistics, snapshots and inspection
package arena
