// Package arena is an allocator to be examined: the caching allocator of a Rust
// library, whose design has blocks in a list that name each other by index (an index
// arena), two ordered pools of free blocks, and calls the driver by its user's hand.
// It follows PyTorch's, but not in everything. It is here twice: as it was found
// (Seed), and made safe (Safe). docs/arena.md tells what was found, and how.
//
//	size.go      how large blocks and pieces are
//	freepool.go  the ordered pools
//	arena.go     blocks: cutting and merging
//	cache.go     how a request is served
//
//	seed.go      giving back, as it was found
//	safe.go      giving back, made safe
//
//	pieces.go    what every user of the two has to know
//	user_seed.go, user_safe.go    users, who offer them as spec.Allocator
//	figures.go, inspect.go        and what they tell
package arena
