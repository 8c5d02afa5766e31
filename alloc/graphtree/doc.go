// Package graphtree is CUDA graph trees over an allocator's contract.
package graphtree
