package examine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"gaugeblock/conformance"
	"gaugeblock/spec"
)

// A Contract is what the author of an allocator says of it: what its callers do before they
// free, and what it relies on. tools/examine/README.md explains the words.
type Contract struct {
	conformance.Contract

	Align   uint64 // bytes that addresses are multiples of
	Limited bool   // it has a limit of its own: a request may fail while the device has memory
	Zero    bool   // it is given requests of 0 bytes as well
	Aborts  bool   // it ends the process when a driver call fails
	Any     bool   // its functions are called with any device current, not only the memory's

	// Anywhere: as Any, and it allocates with any device current as well.
	Anywhere bool

	Blocking bool   // the streams of programs order with the legacy default stream
	Warm     bool   // at the end it may keep what it has after its first request
	Keeps    uint64 // bytes of each device that it may keep at the end
	Memory   string // what it allocates: "", memory of devices; host or managed
}

// contractWords are the words, in the order of tools/examine/README.md.
var contractWords = []struct {
	word string
	set  func(c *Contract)
}{
	{"record_stream", func(c *Contract) { c.Uses = conformance.UsesRecorded }},
	{"joined", func(c *Contract) { c.Uses = conformance.UsesJoined }},
	{"free_stream", func(c *Contract) { c.Uses = conformance.UsesBeforeFree }},
	{"waited", func(c *Contract) { c.Uses = conformance.UsesWaited }},
	{"threads", func(c *Contract) { c.Threads = true }},
	{"destroys_streams", func(c *Contract) { c.DestroysStreams = true }},
	{"limited", func(c *Contract) { c.Limited = true }},
	{"zero_bytes", func(c *Contract) { c.Zero = true }},
	{"aborts", func(c *Contract) { c.Aborts = true }},
	{"any_device", func(c *Contract) { c.Any = true }},
	{"anywhere", func(c *Contract) { c.Any, c.Anywhere = true, true }},
	{"idle_sleep", func(c *Contract) { c.SleepsIdle = true }},
	{"warm", func(c *Contract) { c.Warm = true }},
	{"blocking", func(c *Contract) { c.Blocking = true }},
	{"failing_events", func(c *Contract) { c.FailingEvents = true }},
	{"memory=host", func(c *Contract) { c.Memory = "host" }},
	{"memory=managed", func(c *Contract) { c.Memory = "managed" }},
}

// usesWords is how many of the words say what is done with uses; one of them holds.
const usesWords = 4

// ParseContract reads words that are separated by commas or spaces. Without one of the first
// four, the contract is record_stream if the library has a function of that name, and
// joined otherwise.
func ParseContract(text string, records bool) (Contract, error) {
	c := Contract{Align: 256}
	c.Uses = conformance.UsesJoined
	if records {
		c.Uses = conformance.UsesRecorded
	}
	named := ""
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if sized, err := c.setSize(word); err != nil {
			return c, fmt.Errorf("contract %q: %w", text, err)
		} else if sized {
			continue
		}
		known := false
		for i, w := range contractWords {
			if w.word != word {
				continue
			}
			if i < usesWords && named != "" && named != word {
				return c, fmt.Errorf("contract %q: it is either %s or %s", text, named, word)
			}
			if i < usesWords {
				named = word
			}
			w.set(&c)
			known = true
		}
		if !known {
			return c, fmt.Errorf("contract %q: the word %q is not known; known are %s, align=N and keeps=SIZE", text, word, wordsOfContracts())
		}
	}
	if c.Uses == conformance.UsesRecorded && !records {
		return c, fmt.Errorf("contract %q: record_stream needs a function of that name", text)
	}
	return c, nil
}

// setSize sets what a word with a size says; false if it is no such word.
func (c *Contract) setSize(word string) (is bool, err error) {
	if bytes, is := strings.CutPrefix(word, "align="); is {
		n, err := strconv.ParseUint(bytes, 10, 64)
		if err != nil || n == 0 || n&(n-1) != 0 {
			return true, fmt.Errorf("align=%s is not a power of two", bytes)
		}
		c.Align = n
		return true, nil
	}
	if bytes, is := strings.CutPrefix(word, "keeps="); is {
		n, err := humanize.ParseBytes(bytes)
		if err != nil || n == 0 {
			return true, fmt.Errorf("keeps=%s is not a size such as 64MiB", bytes)
		}
		c.Keeps = n
		return true, nil
	}
	return false, nil
}

// faults are those of driver calls that the allocator has to cope with.
func (c *Contract) faults() (list []spec.FaultSpec) {
	if !c.Aborts {
		for _, call := range []string{"Malloc", "ReserveAddress", "CreatePage", "MapPage", "SetAccess"} {
			list = append(list, spec.FaultSpec{Call: call, Error: spec.FaultOutOfMemory})
		}
	}
	if c.FailingEvents {
		list = append(list, spec.FaultSpec{Call: "RecordEvent", Error: spec.FaultUnknown})
	}
	return list
}

func wordsOfContracts() string {
	var words []string
	for _, w := range contractWords {
		words = append(words, w.word)
	}
	return strings.Join(words, ", ")
}

// String is the contract in its words.
func (c Contract) String() string {
	words := []string{[]string{"record_stream", "joined", "free_stream", "waited"}[c.Uses]}
	for _, w := range []struct {
		on   bool
		word string
	}{
		{c.Threads, "threads"}, {c.DestroysStreams, "destroys_streams"}, {c.Limited, "limited"}, {c.Zero, "zero_bytes"},
		{c.Aborts, "aborts"}, {c.Any && !c.Anywhere, "any_device"}, {c.Anywhere, "anywhere"}, {c.SleepsIdle, "idle_sleep"}, {c.Warm, "warm"},
		{c.Blocking, "blocking"}, {c.FailingEvents, "failing_events"}, {c.Memory != "", "memory=" + c.Memory}, {c.Keeps > 0, fmt.Sprintf("keeps=%d", c.Keeps)}, {c.Align != 256, fmt.Sprintf("align=%d", c.Align)},
	} {
		if w.on {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ",")
}
