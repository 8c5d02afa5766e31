// Package golden has recorded runs of PyTorch's allocator and the test that the reference
// does exactly the same. testdata/README.md describes the recordings. Package replay
// defines exactly.
package golden
