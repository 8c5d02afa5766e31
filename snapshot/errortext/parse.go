// Package errortext explains PyTorch's own texts about memory: the error of a request that
// failed, of every release since 1.13, of the native allocator (CUDA, ROCm, XPU) and of
// cudaMallocAsync, and the table of torch.cuda.memory_summary.
//
// A text has rounded sizes, so what is computed from it is a range: a conclusion is drawn
// only if it holds for every size that is rounded to the text.
package errortext

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// Size is a size in bytes as a text has it: rounded, so from Low to High.
type Size struct {
	Low  uint64 `json:"low"`
	High uint64 `json:"high"`
	text string // "" if it was computed
}

// Kind is the kind of a text.
type Kind string

// The kinds of texts.
const (
	Native   Kind = "native"           // the caching allocator
	Async    Kind = "cudaMallocAsync"  // the backend of that name
	Rejected Kind = "rejected at once" // throw_on_cudamalloc_oom (2.12 and later)
	Summary  Kind = "memory_summary"   // no error
)

// Message is what a text says. A size that it does not have is nil.
type Message struct {
	Kind    Kind   `json:"kind"`
	Backend string `json:"backend"` // CUDA, HIP, XPU, ...
	Device  int    `json:"device"`  // -1: not in the text
	Others  int    `json:"others"`  // further errors in the input

	Asked       *Size `json:"asked"`
	Capacity    *Size `json:"capacity"`
	Free        *Size `json:"free"`
	Process     *Size `json:"process"` // memory of this process, with what is outside of the allocator
	Allocated   *Size `json:"allocated"`
	Cached      *Size `json:"cached"`       // reserved, and not allocated
	PrivateFree *Size `json:"private_free"` // free in private pools; the text calls it allocated
	Allowed     *Size `json:"allowed"`      // by a memory fraction
	CachedWhole *Size `json:"cached_whole"` // of Cached: in whole segments; only in a summary
	OOMs        int   `json:"ooms"`         // only in a summary
	Retries     int   `json:"retries"`      // only in a summary
}

const size = `([\d.]+) ?(bytes|[KMGTP]i?B|B)?`

var (
	begins = regexp.MustCompile(`([A-Z]{2,5})(?: backend)? out of memory\. (?:Tried to allocate [\d]|Allocation was preemptively)|Allocation on device (\d+) would exceed allowed memory`)
	table  = regexp.MustCompile(`PyTorch CUDA memory summary, device ID (\d+)`)
	device = regexp.MustCompile(`\b[GN]PU (\d+)\b`)
	rows   = regexp.MustCompile(`\| *(Allocated memory|Active memory|GPU reserved memory|Non-releasable memory) *\| *` + size)
	counts = regexp.MustCompile(`CUDA OOMs: (\d+).*?cudaMalloc retries: (\d+)`)
	spaces = regexp.MustCompile(`\s+`)
)

// fields are the sizes of an error, each with the texts before and behind it.
var fields = []struct {
	find *regexp.Regexp
	to   func(*Message) **Size
}{
	{regexp.MustCompile(`Tried to allocate ` + size), func(m *Message) **Size { return &m.Asked }},
	{regexp.MustCompile(`Requested *: ` + size), func(m *Message) **Size { return &m.Asked }},
	{regexp.MustCompile(`Requested size: ` + size), func(m *Message) **Size { return &m.Asked }},
	{regexp.MustCompile(`has a total capac?i?ty of ` + size), func(m *Message) **Size { return &m.Capacity }},
	{regexp.MustCompile(size + ` total capacity;`), func(m *Message) **Size { return &m.Capacity }},
	{regexp.MustCompile(`Device limit *: ` + size), func(m *Message) **Size { return &m.Capacity }},
	{regexp.MustCompile(`of which ` + size + ` is free`), func(m *Message) **Size { return &m.Free }},
	{regexp.MustCompile(`; ` + size + ` free;`), func(m *Message) **Size { return &m.Free }},
	{regexp.MustCompile(`Free \(according to CUDA\) *: ` + size), func(m *Message) **Size { return &m.Free }},
	{regexp.MustCompile(`this process has ` + size + ` memory in use`), func(m *Message) **Size { return &m.Process }},
	{regexp.MustCompile(size + ` is allocated by PyTorch`), func(m *Message) **Size { return &m.Allocated }},
	{regexp.MustCompile(`; ` + size + ` already allocated;`), func(m *Message) **Size { return &m.Allocated }},
	{regexp.MustCompile(`Currently allocated *: ` + size), func(m *Message) **Size { return &m.Allocated }},
	{regexp.MustCompile(`with ` + size + ` allocated in private pools`), func(m *Message) **Size { return &m.PrivateFree }},
	{regexp.MustCompile(size + ` is reserved by PyTorch but unallocated`), func(m *Message) **Size { return &m.Cached }},
	{regexp.MustCompile(size + ` allowed;`), func(m *Message) **Size { return &m.Allowed }},
	{regexp.MustCompile(`PyTorch limit \(set by user-supplied memory fraction\) *: ` + size), func(m *Message) **Size { return &m.Allowed }},
	{regexp.MustCompile(`would exceed memory limit \(` + size), func(m *Message) **Size { return &m.Allowed }},
}

// longest is how much of the input behind the beginning of an error can belong to it.
const longest = 2000

// Find finds the first error in a text, or else the last table of memory_summary; nil if
// there is neither.
func Find(text string) *Message {
	found := begins.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 {
		return findSummary(text)
	}
	at := found[0]
	end := min(len(text), at[0]+longest)
	if len(found) > 1 {
		end = min(end, found[1][0])
	}
	body := spaces.ReplaceAllString(text[at[0]:end], " ")
	m := &Message{Kind: Native, Device: -1, Others: len(found) - 1}
	switch {
	case at[4] >= 0:
		m.Kind, m.Backend = Async, "CUDA"
		m.Device, _ = strconv.Atoi(text[at[4]:at[5]])
	case strings.Contains(body, "preemptively"):
		m.Kind = Rejected
	}
	if at[2] >= 0 {
		m.Backend = text[at[2]:at[3]]
	}
	if d := device.FindStringSubmatch(body); d != nil && m.Device < 0 {
		m.Device, _ = strconv.Atoi(d[1])
	}
	for _, f := range fields {
		if s := f.find.FindStringSubmatch(body); s != nil && *f.to(m) == nil {
			*f.to(m) = parseSize(s[1], s[2])
		}
	}
	m.readReserved(body)
	if m.Allowed != nil && m.Allowed.Low >= 1<<60 { // of cudaMallocAsync: there is no limit
		m.Allowed = nil
	}
	if m.Asked == nil {
		return nil
	}
	return m
}

var reserved = regexp.MustCompile(`; ` + size + ` (reserved in total by PyTorch|cached)`)

// readReserved reads what texts before 2.1 say of reserved memory.
func (m *Message) readReserved(body string) {
	s := reserved.FindStringSubmatch(body)
	if s == nil || m.Allocated == nil {
		return
	}
	n := parseSize(s[1], s[2])
	if n != nil && s[3] != "cached" { // the older text has what is cached
		n = difference(n, m.Allocated)
	}
	m.Cached = n
}

func findSummary(text string) *Message {
	found := table.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 {
		return nil
	}
	last := found[len(found)-1]
	m := &Message{Kind: Summary, Backend: "CUDA", Others: len(found) - 1}
	m.Device, _ = strconv.Atoi(text[last[2]:last[3]])
	body := text[last[0]:]
	values := map[string]*Size{}
	for _, r := range rows.FindAllStringSubmatch(body, -1) {
		if values[r[1]] == nil {
			values[r[1]] = parseSize(r[2], r[3])
		}
	}
	if c := counts.FindStringSubmatch(body); c != nil {
		m.OOMs, _ = strconv.Atoi(c[1])
		m.Retries, _ = strconv.Atoi(c[2])
	}
	if m.Allocated = values["Allocated memory"]; m.Allocated == nil || values["GPU reserved memory"] == nil {
		return nil
	}
	m.Cached = difference(values["GPU reserved memory"], m.Allocated)
	if cut, active := values["Non-releasable memory"], values["Active memory"]; cut != nil && active != nil {
		m.CachedWhole = difference(difference(values["GPU reserved memory"], active), cut)
	}
	return m
}

// parseSize reads a number and a unit; nil if it is none. The text has it rounded to its
// last digit, or in a summary cut off.
func parseSize(number, unit string) *Size {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 {
		return nil
	}
	scale := map[byte]float64{'K': float64(spec.KiB), 'M': float64(spec.MiB), 'G': float64(spec.GiB), 'T': 1 << 40, 'P': 1 << 50}[(unit + " ")[0]]
	if scale == 0 {
		return &Size{uint64(n), uint64(n), spec.FormatSize(uint64(n))}
	}
	digit, below := 1.0, 0.0 // a whole number is cut off
	if _, decimals, has := strings.Cut(number, "."); has {
		digit = math.Pow(10, -float64(len(decimals)))
		below = digit / 2
		digit = below
	}
	most := min((n+digit)*scale, 1<<62)
	return &Size{uint64(max(0, n-below) * min(scale, 1<<62/max(n, 1))), uint64(most), number + " " + unit}
}

func sum(list ...*Size) *Size {
	var s *Size
	for _, n := range list {
		if n == nil {
			continue
		}
		if s == nil {
			s = &Size{}
		}
		s.Low, s.High = s.Low+n.Low, s.High+n.High
	}
	return s
}

// difference is a size less another, at least 0; nil if one is not known.
func difference(a, b *Size) *Size {
	if a == nil || b == nil {
		return nil
	}
	return &Size{Low: a.Low - min(a.Low, b.High), High: a.High - min(a.High, b.Low)}
}
