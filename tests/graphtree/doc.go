// Package graphtree holds graphtree to what PyTorch's own graph trees did on a
// GPU, and, with random programs, to what it promises.
//
// testdata has recordings of PyTorch 2.11's CUDAGraphTreeManager on an NVIDIA H200:
// random programs that call functions, hold and drop outputs and mark steps, and
// after each call what became of it and every block of the tree's pool.
package graphtree
