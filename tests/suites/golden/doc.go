// Package golden holds recorded runs of PyTorch's allocator and the test that the
// reference does exactly the same. What the recordings are is told in
// testdata/README.md, what exactly means in package replay.
package golden
