package history

import (
	"regexp"
	"strings"

	"gaugeblock/snapshot"
)

// Marks are what the call stacks of a record tell of the program and its system.
type Marks struct {
	// Collectives: the program uses DistributedDataParallel or collectives of its own. What
	// they hold is freed by a thread that watches for their end. (FSDP2 waits for its
	// collectives in the program, and frees then.)
	Collectives bool
	// GraphTrees: torch.compile keeps its CUDA graphs in trees.
	GraphTrees bool
	// NoExpandable is why expandable segments cannot be used; "": nothing tells so.
	NoExpandable string
	Windows      bool
	Backend      string // "ROCm", "XPU" or "NPU" if the device is none of CUDA
}

var windowsPath = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

// noExpandable are parts of file or function names whose code cannot do with expandable
// segments: it shares memory by handles of whole segments, or maps pages itself.
var noExpandable = []struct{ part, why string }{
	{"device_allocator/cumem", "CuMemAllocator"}, {"CuMemAllocator", "CuMemAllocator"}, {"deep_ep", "DeepEP"}, {"nvshmem", "NVSHMEM"},
	{"rebuild_cuda_tensor", "tensors shared by CUDA IPC"}, {"_share_cuda_", "tensors shared by CUDA IPC"},
}

var backends = []struct{ part, name string }{
	{"torch_npu", "NPU"}, {"c10_npu", "NPU"}, {"torch/xpu/", "XPU"}, {"c10::xpu", "XPU"}, {"amdhip", "ROCm"}, {"c10_hip", "ROCm"}, {"c10::hip", "ROCm"}, {"HIPCachingAllocator", "ROCm"},
}

// marksOf looks at each frame of a history once.
func marksOf(trace []snapshot.TraceEntry) (m Marks) {
	seen, seenFrame := map[*snapshot.Context]bool{}, map[*snapshot.Frame]bool{}
	for i := range trace {
		c := trace[i].Context
		if c == nil || seen[c] {
			continue
		}
		seen[c] = true
		for _, f := range c.Frames {
			if !seenFrame[f] {
				seenFrame[f] = true
				m.add(f)
			}
		}
	}
	return m
}

func (m *Marks) add(f *snapshot.Frame) {
	file := strings.ReplaceAll(f.Filename, "\\", "/")
	m.Windows = m.Windows || windowsPath.MatchString(f.Filename)
	m.Collectives = m.Collectives || strings.Contains(file, "torch/nn/parallel/distributed.py") || strings.Contains(f.Name, "c10d::") ||
		strings.Contains(file, "torch/distributed/") && !strings.Contains(file, "/_fully_shard/") && !strings.Contains(file, "torch/distributed/utils.py")
	m.GraphTrees = m.GraphTrees || strings.HasSuffix(file, "/cudagraph_trees.py")
	for _, b := range noExpandable {
		if m.NoExpandable == "" && (strings.Contains(file, b.part) || strings.Contains(f.Name, b.part)) {
			m.NoExpandable = "the call stacks have " + b.why
		}
	}
	if m.Windows && m.NoExpandable == "" {
		m.NoExpandable = "the program runs on Windows"
	}
	for _, b := range backends {
		if m.Backend == "" && (strings.Contains(file, b.part) || strings.Contains(f.Name, b.part)) {
			m.Backend = b.name
		}
	}
}
