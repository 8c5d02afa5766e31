// Package errortext explains PyTorch's own texts about memory: the error of a request that
// failed, of every release since 1.13, of the native allocator (CUDA, ROCm, XPU, NPU) and of
// cudaMallocAsync, of MPS, of the CUDA runtime, and the table of torch.cuda.memory_summary.
//
// A text has rounded sizes, so what is computed from it is a range: a conclusion is drawn
// only if it holds for every size that is rounded to the text.
//
//	warnings.go  warnings with exact bytes
//	squeeze.go   what logs and terminals put between the words is left out
//	foreign.go   errors that are not the allocator's
//	parse.go     texts to messages
//	size.go      rounded sizes
//	cause.go     the conclusions
//	where.go     where the memory is
//	explain.go   sentences
//	brief.go     three lines
package errortext

import (
	"regexp"
	"strconv"
	"strings"
)

// Kind is the kind of a text.
type Kind string

// The kinds of texts.
const (
	Native       Kind = "native"           // the caching allocator
	Async        Kind = "cudaMallocAsync"  // the backend of that name
	Rejected     Kind = "rejected at once" // throw_on_cudamalloc_oom (2.12 and later)
	AddressSpace Kind = "address space"    // no addresses for an expandable segment (2.15 and later)
	MPS          Kind = "MPS"              // Apple's devices
	Nonsense     Kind = "above 1 EB"       // a size that no device has
	Runtime      Kind = "CUDA runtime"     // a call of CUDA that is none of the allocator's
	Summary      Kind = "memory_summary"   // no error
	Warned       Kind = "warning"          // a refusal of the driver (2.13 and later), and no error
)

// Message is what a text says. A size that it does not have is nil.
type Message struct {
	Kind    Kind   `json:"kind"`
	Backend string `json:"backend"` // CUDA, HIP, XPU, ...
	Device  int    `json:"device"`  // -1: not in the text
	Times   int    `json:"times"`   // how often the input has it

	Asked       *Size     `json:"asked"`
	Capacity    *Size     `json:"capacity"`
	Free        *Size     `json:"free"`
	Process     *Size     `json:"process"`   // memory of this process, with what is outside of the allocator
	Processes   []Process `json:"processes"` // others that the text names
	Allocated   *Size     `json:"allocated"`
	Cached      *Size     `json:"cached"`       // reserved, and not allocated
	PrivateFree *Size     `json:"private_free"` // free in private pools; the text calls it allocated
	Allowed     *Size     `json:"allowed"`      // by a memory fraction
	CachedWhole *Size     `json:"cached_whole"` // of Cached: in whole segments; only in a summary
	OOMs        int       `json:"ooms"`         // only in a summary
	Retries     int       `json:"retries"`      // only in a summary

	Old          bool     `json:"old"`                     // a form of 2.0 or earlier
	Expandable   bool     `json:"expandable"`              // the text says that expandable_segments is on
	CustomPool   bool     `json:"custom_pool"`             // the allocator of a MemPool returned nothing
	NoExpandable string   `json:"no_expandable,omitempty"` // why expandable_segments cannot be used, by the rest of the input
	Windows      bool     `json:"windows"`                 // the rest of the input has paths of Windows
	Table        *Message `json:"table,omitempty"`         // the memory_summary behind the error
	Warning      *Warning `json:"warning,omitempty"`       // the last one before the error

	newName      bool // the text has PYTORCH_ALLOC_CONF, as those of 2.9 and later have
	headless     bool // the beginning of the text, which names the backend, is not there
	lends        bool // the rest of the input names a system whose driver lends memory of the host
	leftOut      bool // a part in the middle of the text is not there: it may be a size
	unlimited    bool // of cudaMallocAsync: the text says that there is no limit
	tables       int  // of a summary: how many the text has
	hidesProcess bool // the driver does not tell what a process has, as on WSL
}

// Process is another process that a text names. In a container it may be this one.
type Process struct {
	ID   uint64 `json:"id"`
	Size *Size  `json:"size"`
}

// Texts are matched without white space: a terminal or a log may have wrapped them anywhere.
const size = `(\d+(?:[.,]\d+)*)(bytes|[KMGTPE]i?B|B)`

var (
	begins  = regexp.MustCompile(`(?:([A-Z]{2,5})outofmemory\.(?:Triedtoallocate\d|Allocationwaspreemptively)|(MPS)backendoutofmemory|([A-Z]{2,5})outofmemory\.Triedtoallocatemorethan|Allocationondevice(\d+)wouldexceedallowedmemory|(CUDA|HIP)(?:driver)?error:outofmemory|(CUBLAS|CUDNN|CUSOLVER|CUSPARSE)_STATUS_ALLOC_FAILED|(Cu)dafailure\d*'outofmemory'|\[ExpandableSegmentVA\]Failedtoreserve|Triedtoallocate[\d.,]+(?:bytes|[KMGTPE]i?B)(?:\(GPU\d+;|\.GPU\d+hasatotal))`)
	anchors = []string{"outofmemory", "_STATUS_ALLOC_FAILED", "wouldexceedallowedmemory", "[ExpandableSegmentVA]Failedtoreserve", "Triedtoallocate"}
	device  = regexp.MustCompile(`(?:[GN]PU(\d+)(?:has|;)|ondevice(\d+)\))`)
	process = regexp.MustCompile(`Process(\d+)has` + size + `memoryinuse`)
)

// fields are the sizes of an error, each with the texts before and behind it.
var fields = []struct {
	find *regexp.Regexp
	to   func(*Message) **Size
}{
	{regexp.MustCompile(`Triedtoallocate` + size), func(m *Message) **Size { return &m.Asked }},
	{regexp.MustCompile(`Requested:` + size), func(m *Message) **Size { return &m.Asked }},
	{regexp.MustCompile(`Requestedsize:` + size), func(m *Message) **Size { return &m.Asked }},
	{regexp.MustCompile(`hasatotalcapac?i?tyof` + size), func(m *Message) **Size { return &m.Capacity }},
	{regexp.MustCompile(size + `totalcapacity;`), func(m *Message) **Size { return &m.Capacity }},
	{regexp.MustCompile(`Devicelimit:` + size), func(m *Message) **Size { return &m.Capacity }},
	{regexp.MustCompile(`ofwhich` + size + `isfree`), func(m *Message) **Size { return &m.Free }},
	{regexp.MustCompile(`;` + size + `free;`), func(m *Message) **Size { return &m.Free }},
	{regexp.MustCompile(`Free\(accordingtoCUDA\):` + size), func(m *Message) **Size { return &m.Free }},
	{regexp.MustCompile(`thisprocesshas` + size + `memoryinuse`), func(m *Message) **Size { return &m.Process }},
	{regexp.MustCompile(`\(MPSallocated:` + size), func(m *Message) **Size { return &m.Allocated }},
	{regexp.MustCompile(size + `isallocatedbyPyTorch`), func(m *Message) **Size { return &m.Allocated }},
	{regexp.MustCompile(`;` + size + `alreadyallocated;`), func(m *Message) **Size { return &m.Allocated }},
	{regexp.MustCompile(`Currentlyallocated:` + size), func(m *Message) **Size { return &m.Allocated }},
	{regexp.MustCompile(`with` + size + `allocatedinprivatepools`), func(m *Message) **Size { return &m.PrivateFree }},
	{regexp.MustCompile(size + `isreservedbyPyTorchbutunallocated`), func(m *Message) **Size { return &m.Cached }},
	{regexp.MustCompile(`otherallocations:` + size), func(m *Message) **Size { return &m.Cached }},
	{regexp.MustCompile(size + `allowed;`), func(m *Message) **Size { return &m.Allowed }},
	{regexp.MustCompile(`maxallowed:` + size), func(m *Message) **Size { return &m.Allowed }},
	{regexp.MustCompile(`PyTorchlimit\(setbyuser-suppliedmemoryfraction\).{0,150}?:` + size), func(m *Message) **Size { return &m.Allowed }},
	{regexp.MustCompile(`wouldexceedmemorylimit\(` + size), func(m *Message) **Size { return &m.Allowed }},
}

// longest is how much of the squeezed input behind the beginning of an error can belong to it.
const longest = 1800

// Find finds the first error in a text, or else the last table of memory_summary; nil if
// there is neither.
func Find(text string) *Message {
	if all := FindAll(text); len(all) > 0 {
		return all[0]
	}
	return nil
}

// FindAll finds the errors in a text, each of those with equal sizes once, or else the last table.
// Errors that are not the allocator's come last: they are often what follows from the others.
func FindAll(text string) (list []*Message) {
	squeezed := squeeze(text)
	found := starts(squeezed)
	seen := map[string]*Message{}
	var outside []*Message
	warnings, from := findWarnings(squeezed), 0
	for i, at := range found {
		end := min(len(squeezed), at[0]+longest)
		if i+1 < len(found) {
			end = min(end, found[i+1][0])
		}
		m := parse(squeezed[at[0]:end], squeezed, at)
		if m == nil {
			continue
		}
		m.readWarnings(warnings, from, at[0])
		from = at[0]
		key := m.key()
		if seen[key] != nil {
			seen[key].Times++
			continue
		}
		seen[key] = m
		if m.Kind == Runtime {
			outside = append(outside, m)
		} else {
			list = append(list, m)
		}
	}
	table := findSummary(text)
	if len(list) > 0 || !ofOthers.MatchString(squeezed) {
		list = append(list, outside...)
	}
	if w := warned(warnings); len(list) == 0 && w != nil {
		list = append(list, w)
	}
	if len(list) == 0 && table != nil {
		return []*Message{table}
	}
	why, windows := noExpandable(text)
	for _, m := range list {
		m.NoExpandable, m.Windows, m.lends = why, windows, sharesMemory.MatchString(text)
	}
	if len(list) > 0 && table != nil && table.Device == list[0].Device {
		list[0].Table = table
	}
	return list
}

// starts are where errors begin, with the groups of begins.
func starts(squeezed string) (found [][]int) {
	for from := 0; from < len(squeezed); {
		next := -1
		for _, a := range anchors {
			if i := strings.Index(squeezed[from:], a); i >= 0 && (next < 0 || i < next) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		// what comes before an anchor is short
		low, high := max(from, from+next-len("AllocationondeviceMPSbackend")-20), min(len(squeezed), from+next+80)
		at := begins.FindStringSubmatchIndex(squeezed[low:high])
		from += next + 1
		if at == nil || low+at[1] < from {
			continue
		}
		for i := range at {
			if at[i] >= 0 {
				at[i] += low
			}
		}
		found = append(found, at)
		from = max(from, at[1])
	}
	return found
}

// parse reads one error. at are the groups of begins in all.
func parse(body, all string, at []int) *Message {
	group := func(i int) string {
		if at[2*i] < 0 {
			return ""
		}
		return all[at[2*i]:at[2*i+1]]
	}
	m := &Message{Kind: Native, Backend: group(1) + group(2) + group(3) + group(5), Device: -1, Times: 1}
	switch {
	case group(4) != "":
		m.Kind, m.Backend = Async, "CUDA"
		m.Device, _ = strconv.Atoi(group(4))
	case group(2) != "":
		m.Kind = MPS
	case group(3) != "":
		m.Kind = Nonsense
	case group(5) != "":
		m.Kind = Runtime
	case group(6) != "":
		m.Kind, m.Backend = Runtime, strings.Replace(group(6), "CU", "cu", 1)
	case group(7) != "":
		m.Kind, m.Backend = Runtime, "NCCL"
	case strings.HasPrefix(body, "[Exp"):
		m.Kind, m.Backend = AddressSpace, "CUDA"
	case strings.Contains(body, "preemptively"):
		m.Kind = Rejected
	case strings.HasPrefix(body, "Tried"):
		m.Backend, m.headless = "CUDA", true
	}
	if m.Kind == Runtime {
		return m
	}
	m.readDevice(body)
	for _, f := range fields {
		if s := once(f.find, body); s != nil && *f.to(m) == nil {
			*f.to(m) = parseSize(s[1], s[2])
		}
	}
	m.readReserved(body)
	m.readProcesses(body)
	m.readRemarks(body)
	if m.Allowed != nil && m.Allowed.Low >= noSize { // of cudaMallocAsync: there is no limit
		m.Allowed, m.unlimited = nil, true
	}
	if m.Asked == nil && m.Kind != AddressSpace && m.Kind != Nonsense {
		return nil
	}
	return m
}

// once is the match of a field. It is nil where the text behind a beginning has the field with two
// sizes: what two processes have written at the same time is mixed, and one of them is another's.
func once(find *regexp.Regexp, body string) []string {
	all := find.FindAllStringSubmatch(body, -1)
	for _, s := range all {
		if s[1] != all[0][1] || s[2] != all[0][2] {
			return nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// noSize and more is what the driver says where it does not know: all bits of a number are set.
const noSize = 1 << 50

func (m *Message) readDevice(body string) {
	if d := once(device, body); d != nil && m.Device < 0 {
		m.Device, _ = strconv.Atoi(d[1] + d[2])
	}
}

func (m *Message) readProcesses(body string) {
	for _, p := range process.FindAllStringSubmatch(body, -1) {
		if s := parseSize(p[2], p[3]); s != nil && s.Low < noSize {
			id, _ := strconv.ParseUint(p[1], 10, 64)
			m.Processes = append(m.Processes, Process{id, s})
		}
	}
	if m.Process != nil && m.Process.Low >= noSize {
		m.Process, m.hidesProcess = nil, true
	}
}

// leftOut is what logs write where they leave a part of a line out.
var leftOut = regexp.MustCompile(`\.\.\.|…|[\[(<]trunc`)

// readRemarks reads what a release tells beside the sizes.
func (m *Message) readRemarks(body string) {
	inside, _, _ := strings.Cut(body, "reservedbyPyTorch")
	m.leftOut = leftOut.MatchString(inside)
	m.Old = m.Backend != "NPU" && strings.Contains(body, "totalcapacity;")
	m.newName = strings.Contains(body, "PYTORCH_ALLOC_CONF=")
	m.Expandable = strings.Contains(body, "expandable_segmentsisenabled.") || m.Kind == AddressSpace
	m.CustomPool = strings.Contains(body, "ThecustomallocatorbackingthisMemPoolreturnednullptr")
}

var reserved = regexp.MustCompile(`;` + size + `(reservedintotalbyPyTorch|cached)`)

// readReserved reads what texts before 2.1 say of reserved memory.
func (m *Message) readReserved(body string) {
	s := once(reserved, body)
	if s == nil || m.Allocated == nil {
		return
	}
	n := parseSize(s[1], s[2])
	if n != nil && s[3] != "cached" { // the older text has what is cached
		n = difference(n, m.Allocated)
	}
	m.Cached = n
}

// key is equal for errors that say the same.
func (m *Message) key() string {
	key := string(m.Kind) + m.Backend + strconv.Itoa(m.Device)
	for _, s := range []*Size{m.Asked, m.Capacity, m.Free, m.Process, m.Allocated, m.Cached, m.PrivateFree, m.Allowed} {
		if key += ","; s != nil {
			key += s.text
		}
	}
	return key
}
