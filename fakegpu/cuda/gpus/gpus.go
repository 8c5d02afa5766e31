// Package gpus is a table of GPUs: what CUDA says of each, as far as PyTorch and the libraries
// around it ask. docs/run.md has the sources.
package gpus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaugeblock/fakegpu"
)

// A GPU is one kind of device.
type GPU struct {
	Word string // what the command line calls it
	Name string // what CUDA calls it
	// Memory is cudaDeviceProp.totalGlobalMem, in bytes.
	Memory uint64
	// Context is how many bytes a process with PyTorch takes beside its allocator, after its first
	// matrix product: what cudaMemGetInfo no longer calls free.
	Context uint64
	// MemoryFrom is where Memory is from. Another driver can give another size: messages about a
	// 4090 on Linux have 23.52 to 23.68 GiB, those about a T4 14.56 to 14.75 GiB.
	MemoryFrom string

	arch       *architecture
	processors int // multiprocessors
	l2         int // bytes of the second cache
	bus        int // bits
	clock      int // kHz
	memClock   int // kHz
}

// architecture is what all devices of a compute capability have in common (CUDA C++ Programming
// Guide, table of technical specifications by compute capability).
type architecture struct {
	major, minor   int
	sharedOfAll    int // bytes of shared memory of a multiprocessor
	sharedOfBlock  int // bytes that a block can have if it asks for them
	sharedReserved int // bytes of each block that the system takes
	threads        int // of a multiprocessor
	blocks         int // of a multiprocessor
	clusters       bool
}

var (
	volta     = &architecture{7, 0, 98304, 98304, 0, 2048, 32, false}
	turing    = &architecture{7, 5, 65536, 65536, 0, 1024, 16, false}
	ampere    = &architecture{8, 0, 167936, 166912, 1024, 2048, 32, false}
	ampere86  = &architecture{8, 6, 102400, 101376, 1024, 1536, 16, false}
	ada       = &architecture{8, 9, 102400, 101376, 1024, 1536, 24, false}
	hopper    = &architecture{9, 0, 233472, 232448, 1024, 2048, 32, true}
	blackwell = &architecture{10, 0, 233472, 232448, 1024, 2048, 32, true}
	geforce50 = &architecture{12, 0, 102400, 101376, 1024, 1536, 24, true}
)

// Late is what of Context a process takes only at its first kernel and its first matrix product, and what it takes
// beside: of cuDNN, and of the second handle of cuBLAS and of cuDNN. It is nothing of GPUs that nobody has measured.
func (g GPU) Late() (late fakegpu.LateMemory) {
	if g.Context == contextHopper {
		late.Kernel, late.Product, late.SecondProduct = kernelHopper, productHopper, handleHopper
		late.Plan, late.SecondPlan = planHopper, planHopper
	}
	return late
}

// hundredths gives the bytes of a size that a message of PyTorch has in hundredths of a GiB,
// without what is no multiple of 64 KiB.
func hundredths(n uint64) uint64 { return n << 30 / 100 >> 16 << 16 }

const (
	mib           = 1 << 20
	contextOther  = 500 * mib
	kernelHopper  = 96468992 // code of the first kernels
	productHopper = 69206016 // cublas
	handleHopper  = 64 * mib // of cublas
	planHopper    = 10 * mib // code of cudnn: forward, and backward
	contextHopper = 552402944 + kernelHopper + productHopper
)

// Where the memory is from: read on the device, or a message of PyTorch that it is out of memory,
// in hundredths of a GiB, or what PyTorch prints as properties of the device, in MiB. Of one message the place was
// not noted.
const (
	read       = "read on one"
	notNoted   = "a message of PyTorch, whose place was not noted"
	properties = "cudaGetDeviceProperties: "
	from       = "a message of PyTorch: https://github.com/"
)

// All are the GPUs that are known, the first of which is the usual one. All figures of the H200 were
// read on one. Of the others, contexts are estimates. So are multiprocessors, L2, bus and clocks,
// after NVIDIA's white papers: Volta (v100), Turing (t4), GA100 (a100), GA102 (a6000, 3090), Hopper
// (h100), Ada (l40s, l4, 4090), RTX Blackwell (5090). Those of a10 and b200 were
// read on one by who wrote the page or the pull request that is named.
var All = []GPU{
	{"h200", "NVIDIA H200", 150109880320, contextHopper, read, hopper, 132, 60 * mib, 6016, 1980000, 3201000},
	{"h100", "NVIDIA H100 80GB HBM3", hundredths(7911), contextHopper, from + "vllm-project/vllm/issues/27508", hopper, 132, 50 * mib, 5120, 1980000, 2619000},
	{"b200", "NVIDIA B200", hundredths(17835), contextHopper, properties + "https://github.com/pytorch/ao/pull/4002", blackwell, 148, 126 * mib, 7680, 1965000, 3996000},
	{"a100-80", "NVIDIA A100-SXM4-80GB", hundredths(7925), contextOther, from + "HiDream-ai/VAREdit/issues/6", ampere, 108, 40 * mib, 5120, 1410000, 1593000},
	{"a100-40", "NVIDIA A100-SXM4-40GB", hundredths(3950), contextOther, from + "TianheWu/CoSeR/issues/10", ampere, 108, 40 * mib, 5120, 1410000, 1215000},
	{"l40s", "NVIDIA L40S", hundredths(4442), contextOther, from + "stepfun-ai/Step-Video-T2V/issues/8", ada, 142, 96 * mib, 384, 2520000, 9001000},
	{"l4", "NVIDIA L4", hundredths(2203), contextOther, notNoted, ada, 58, 48 * mib, 192, 2040000, 6251000},
	{"a10", "NVIDIA A10G", 22587 * mib, contextOther, properties + "the page about decoding with CUDA of TorchCodec's documentation", ampere86, 80, 6 * mib, 384, 1710000, 6251000},
	{"a6000", "NVIDIA RTX A6000", 48676 * mib, contextOther, properties + "https://github.com/pytorch/ao, torchao/prototype/hqq/README.md", ampere86, 84, 6 * mib, 384, 1800000, 8001000},
	{"t4", "Tesla T4", hundredths(1456), contextOther, from + "Zheng-Chong/CatVTON/issues/133", turing, 40, 4 * mib, 256, 1590000, 5001000},
	{"v100", "Tesla V100-SXM2-32GB", hundredths(3174), contextOther, from + "haotian-liu/LLaVA/issues/812", volta, 80, 6 * mib, 4096, 1530000, 877000},
	{"3090", "NVIDIA GeForce RTX 3090", hundredths(2368), contextOther, from + "3DTopia/OpenLRM/issues/42", ampere86, 82, 6 * mib, 384, 1695000, 9751000},
	{"4090", "NVIDIA GeForce RTX 4090", hundredths(2364), contextOther, from + "ali-vilab/VGen/issues/104", ada, 128, 72 * mib, 384, 2520000, 10501000},
	{"5090", "NVIDIA GeForce RTX 5090", hundredths(3137), contextOther, from + "Wan-Video/Wan2.1/issues/465", geforce50, 170, 96 * mib, 512, 2407000, 14001000},
}

// Find gives the GPU of a word, in capitals or not.
func Find(word string) (GPU, bool) {
	i := slices.IndexFunc(All, func(g GPU) bool { return strings.EqualFold(g.Word, word) })
	if i < 0 {
		return GPU{}, false
	}
	return All[i], true
}

// Words lists the words of all GPUs.
func Words() []string {
	words := make([]string, len(All))
	for i, g := range All {
		words[i] = g.Word
	}
	return words
}

// CUDA's numbers for the attributes of a device, which the driver and the runtime share.
const (
	maxThreadsPerBlock = 1
	multiprocessors    = 16
	clockRate          = 13
	memoryClock        = 36
	busWidth           = 37
	l2Size             = 38
	threadsOfAll       = 39
	majorNumber        = 75
	minorNumber        = 76
	sharedOfAll        = 81
	registersOfAll     = 82
	sharedOfBlock      = 97
	blocksOfAll        = 106
	persistingL2       = 108
	sharedReserved     = 111
	clusterLaunch      = 120
)

// common are the attributes that all devices of the table have alike. What is not named is 0.
var common = map[int]int{
	maxThreadsPerBlock: 1024,
	2:                  1024, 3: 1024, 4: 64, // a block's dimensions
	5: 2147483647, 6: 65535, 7: 65535, // a grid's
	8:              49152, // shared memory of a block that asks for none
	9:              65536, // constant memory
	10:             32,    // warp
	11:             2147483647,
	12:             65536, // registers of a block
	14:             512,   // texture alignment
	15:             1,     // copies overlap with work
	19:             1,     // memory of the host can be mapped
	31:             1,     // several kernels at a time
	32:             1,     // error correction
	40:             3,     // copy engines
	41:             1,     // unified addressing
	51:             32,    // texture pitch alignment
	78:             1,     // priorities of streams
	79:             1,     // L1 for globals
	80:             1,     // L1 for locals
	registersOfAll: 65536,
	83:             1, // managed memory
	87:             2, // ratio of single to double precision
	89:             1, // concurrent managed access
	90:             1, // compute preemption
	91:             1, // registered memory has one pointer
	95:             1, // cooperative launch
	99:             1, // host memory can be registered
	102:            1, // virtual memory
	103:            1, // descriptors of files as handles
	107:            1, 112: 1, 113: 1, 114: 1, 122: 1, 123: 1, 124: 1, 125: 1, 127: 1, 129: 1,
	109: 134213632, // largest access window
	115: 1,         // pools
	126: 4,
}

// Management is what the management library tells of a GPU with so many bytes (fakegpu/cuda/lib/nvml.c): its name,
// bytes, those that the driver keeps beside them, capability, and whether two have links. Those with memory of that
// kind (buses of thousands of bits) do. What the driver keeps was read on the H200 only; the others have none here.
func (g GPU) Management(memory uint64) string {
	const wide, keptOnH200 = 4096, 644939776
	links, kept := 0, 0
	if g.Word == "h200" {
		kept = keptOnH200
	}
	if g.bus >= wide {
		links = 1
	}
	return fmt.Sprintf("%s|%d|%d|%d|%d|%d", g.Name, memory, kept, g.arch.major, g.arch.minor, links)
}

// BytesPerSecond is the rate of the device's memory.
func (g GPU) BytesPerSecond() float64 { return float64(g.bus) / 8 * float64(g.memClock) * 1000 * 2 }

// OperationsPerSecond is the rate of multiplications and additions of single precision, without tensor cores.
func (g GPU) OperationsPerSecond() float64 {
	lanes := 128.0
	if g.arch == volta || g.arch == turing || g.arch == ampere {
		lanes = 64
	}
	return float64(g.processors) * lanes * 2 * float64(g.clock) * 1000
}

// Attributes gives the attributes of a GPU, by CUDA's numbers. What is not there is 0.
func (g GPU) Attributes() map[int]int {
	if g.Word == "h200" {
		return maps.Clone(readOnH200)
	}
	a := maps.Clone(common)
	a[multiprocessors], a[clockRate], a[memoryClock], a[busWidth], a[l2Size] = g.processors, g.clock, g.memClock, g.bus, g.l2
	a[majorNumber], a[minorNumber] = g.arch.major, g.arch.minor
	a[threadsOfAll], a[blocksOfAll] = g.arch.threads, g.arch.blocks
	a[sharedOfAll], a[sharedOfBlock], a[sharedReserved] = g.arch.sharedOfAll, g.arch.sharedOfBlock, g.arch.sharedReserved
	if g.arch.major >= 8 {
		a[persistingL2] = g.l2 * 5 / 8
	}
	if g.arch.clusters {
		a[clusterLaunch] = 1
	}
	return a
}
