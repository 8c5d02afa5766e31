package examine

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/conformance"
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
}

// contractWords are the words, in the order of tools/examine/README.md.
var contractWords = []struct {
	word string
	set  func(c *Contract)
}{
	{"record_stream", func(c *Contract) { c.Uses = conformance.UsesRecorded }},
	{"joined", func(c *Contract) { c.Uses = conformance.UsesJoined }},
	{"free_stream", func(c *Contract) { c.Uses = conformance.UsesBeforeFree }},
	{"threads", func(c *Contract) { c.Threads = true }},
	{"destroys_streams", func(c *Contract) { c.DestroysStreams = true }},
	{"limited", func(c *Contract) { c.Limited = true }},
	{"zero_bytes", func(c *Contract) { c.Zero = true }},
	{"aborts", func(c *Contract) { c.Aborts = true }},
	{"any_device", func(c *Contract) { c.Any = true }},
}

// ParseContract reads words that are separated by commas or spaces. Without one of the first
// three, the contract is record_stream if the library has a function of that name, and
// joined otherwise.
func ParseContract(text string, records bool) (Contract, error) {
	c := Contract{Align: 256}
	c.Uses = conformance.UsesJoined
	if records {
		c.Uses = conformance.UsesRecorded
	}
	named := ""
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if bytes, is := strings.CutPrefix(word, "align="); is {
			n, err := strconv.ParseUint(bytes, 10, 64)
			if err != nil || n == 0 || n&(n-1) != 0 {
				return c, fmt.Errorf("contract %q: align=%s is not a power of two", text, bytes)
			}
			c.Align = n
			continue
		}
		known := false
		for i, w := range contractWords {
			if w.word != word {
				continue
			}
			if i < 3 && named != "" && named != word {
				return c, fmt.Errorf("contract %q: it is either %s or %s", text, named, word)
			}
			if i < 3 {
				named = word
			}
			w.set(&c)
			known = true
		}
		if !known {
			return c, fmt.Errorf("contract %q: the word %q is not known; known are %s and align=N", text, word, wordsOfContracts())
		}
	}
	if c.Uses == conformance.UsesRecorded && !records {
		return c, fmt.Errorf("contract %q: record_stream needs a function of that name", text)
	}
	return c, nil
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
	words := []string{[]string{"record_stream", "joined", "free_stream"}[c.Uses]}
	for _, w := range []struct {
		on   bool
		word string
	}{
		{c.Threads, "threads"}, {c.DestroysStreams, "destroys_streams"}, {c.Limited, "limited"}, {c.Zero, "zero_bytes"},
		{c.Aborts, "aborts"}, {c.Any, "any_device"}, {c.Align != 256, fmt.Sprintf("align=%d", c.Align)},
	} {
		if w.on {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ",")
}
