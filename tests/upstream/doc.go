// Package upstream shows that the reference does what PyTorch's own tests of its
// CUDA allocator expect. There is a test for each of theirs, named after it
// (test_record_stream of class TestCuda is TestCuda_RecordStream); its comment says
// what theirs checks, and it does the same to alloc on a fake GPU.
// tests/upstream/README.md lists them file by file, with those that cannot apply and
// why.
//
// Where theirs computes with tensors ours moves bytes: a fake GPU does not add. A
// sum becomes a copy of its operands, and a test that looked at a result looks at
// which bytes have arrived, which is all that an allocator can get wrong.
package upstream
