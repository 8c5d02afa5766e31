// Package wheel has the files of PyTorch's releases that the tools need: the two libraries of the
// allocator and their headers, 5 MB of a wheel of 0.5 to 0.9 GB.
//
//	cache.go    where they are kept, and which release a version means
//	listed.go   the releases whose files the repository knows by their hashes
//	get.go      fetching a release into the cache
//	pip.go      what pip is asked: pip knows the user's package index
//	ranges.go   reading parts of a wheel over HTTP
package wheel
