package history

import (
	"strings"
	"testing"

	"gaugeblock/snapshot"
)

// TestMarks: what call stacks tell of the program and its system.
func TestMarks(t *testing.T) {
	for _, test := range []struct {
		file, name string
		want       Marks
	}{
		{"train.py", "main", Marks{}},
		{"/x/torch/nn/parallel/distributed.py", "forward", Marks{Collectives: true}},
		{"/x/torch/distributed/distributed_c10d.py", "all_reduce", Marks{Collectives: true}},
		{"/x/torch/distributed/fsdp/_fully_shard/_fsdp_param.py", "alloc_storage", Marks{}},
		{"/x/torch/distributed/utils.py", "_free_storage", Marks{}},
		{"/x/torch/_inductor/cudagraph_trees.py", "run", Marks{GraphTrees: true}},
		{"/x/torch/_inductor/cudagraph_trees.py.txt", "run", Marks{}},
		{"/x/deep_ep/buffer.py", "f", Marks{NoExpandable: "DeepEP"}},
		{"libnvshmem.so", "f", Marks{NoExpandable: "NVSHMEM"}},
		{"a.py", "_share_cuda_", Marks{NoExpandable: "CUDA IPC"}},
		{"libtorch_cuda.so", "c10::xpu::malloc", Marks{Backend: "XPU"}},
		{"??", "c10d::Reducer::Reducer(int)", Marks{Collectives: true}},
		{"/x/vllm/device_allocator/cumem.py", "malloc", Marks{NoExpandable: "CuMemAllocator"}},
		{"/x/torch/multiprocessing/reductions.py", "rebuild_cuda_tensor", Marks{NoExpandable: "CUDA IPC"}},
		{`C:\\Users\\u\\train.py`, "main", Marks{Windows: true, NoExpandable: "Windows"}},
		{"/x/torch_npu/npu/memory.py", "f", Marks{Backend: "NPU"}},
		{"libc10_hip.so", "f", Marks{Backend: "ROCm"}},
	} {
		e := snapshot.TraceEntry{Context: &snapshot.Context{Frames: snapshot.Frames{{Filename: "a.py", Name: "f"}, {Filename: test.file, Name: test.name}}}}
		got := marksOf([]snapshot.TraceEntry{e, e})
		if !strings.Contains(got.NoExpandable, test.want.NoExpandable) || (got.NoExpandable == "") != (test.want.NoExpandable == "") {
			t.Errorf("%s: %q", test.file, got.NoExpandable)
		}
		if got.NoExpandable = test.want.NoExpandable; got != test.want {
			t.Errorf("%s: %+v", test.file, got)
		}
	}
	var entries []snapshot.TraceEntry
	for _, f := range []snapshot.Frame{
		{Filename: "/x/torch/nn/parallel/distributed.py"}, {Filename: "/x/torch/_inductor/cudagraph_trees.py"}, {Filename: "deep_ep.py"}, {Filename: "C:\\a.py"},
		{Filename: "torch_npu"}, {Filename: "/nvshmem/a.py"}, {Filename: "amdhip"}, {Filename: "train.py", Name: "main"},
	} {
		entries = append(entries, snapshot.TraceEntry{}, snapshot.TraceEntry{Context: &snapshot.Context{Frames: snapshot.Frames{&f}}})
	}
	want := Marks{Collectives: true, GraphTrees: true, NoExpandable: "the call stacks have DeepEP", Windows: true, Backend: "NPU"}
	if got := marksOf(entries); got != want {
		t.Errorf("of all: %+v", got)
	}
}
