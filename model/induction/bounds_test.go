package induction

import (
	"gaugeblock/model/tlc"
)

// Bounds are those of a universe.
type Bounds struct {
	Name          string
	Words         string
	Configuration string // the text of a configuration of CachingAllocator.tla
	Work, Events  int    // see Universe
	Small         bool   // within a second or two
}

// AllBounds lists the bounds at which the induction is checked.
func AllBounds() []Bounds {
	text := func(constants string) string { return "SPECIFICATION Spec\nCONSTANTS\n" + constants }
	const one, four, three = "    Memory = 2\n    Sizes = {1}\n", "    Memory = 4\n    Sizes = {1, 2}\n", "    Memory = 2\n    Sizes = {1}\n    Streams = {1, 2, 3}\n"
	return []Bounds{
		{"segment", "2 units of memory, 2 streams, requests of 1; 3 pieces of work and 2 events in a stream", text(one), 3, 2, true},
		{"sizes", "4 units of memory, 2 streams, requests of 1 and 2; a piece of work and an event in a stream", text(four), 1, 1, true},
		{"streams", "2 units of memory, 3 streams, requests of 1; a piece of work and an event in a stream", text(three), 1, 1, true},
		{"queues", "2 units of memory, 2 streams, requests of 1; 4 pieces of work and 4 events in a stream", text(one), 4, 4, false},
		{"sizes_work", "4 units of memory, 2 streams, requests of 1 and 2; 2 pieces of work and an event in a stream", text(four), 2, 1, false},
	}
}

// Universe has all states at the bounds. read is tla.ReadConfig.
func (b *Bounds) Universe(read func(text []byte, file string) (*tlc.Config, error)) (*Universe, error) {
	config, err := read([]byte(b.Configuration), "induction "+b.Name)
	if err != nil {
		return nil, err
	}
	return NewUniverse(config, b.Work, b.Events)
}
