package fakegpu_test

import (
	"fmt"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// An allocator gives memory out again while another stream is still reading it. Here
// the allocator is a comment; tests/earlyreuse makes the calls for a real one.
func ExampleGPU_Hazards() {
	g := fakegpu.New(fakegpu.Config{})
	memory, _ := g.Malloc(0, 2*spec.MiB)
	first, _ := g.CreateStream(0)
	second, _ := g.CreateStream(0)
	tensor := spec.Range{Ptr: memory, Bytes: 512}

	g.BeginLifetime(fakegpu.Lifetime{Range: tensor, Stream: first}) // malloc
	_ = g.Launch(spec.Launch{Stream: second, Name: "consume", Reads: []spec.Range{tensor}})
	g.EndLifetime(tensor.Ptr)                                       // free
	g.BeginLifetime(fakegpu.Lifetime{Range: tensor, Stream: first}) // malloc
	_ = g.Launch(spec.Launch{Stream: first, Name: "overwrite", Writes: []spec.Range{tensor}})

	for _, h := range g.Hazards() {
		fmt.Println(h.Kind, "-", h.First.Name, "and", h.Second.Name)
		fmt.Println(h.Missing)
	}
	// Output:
	// unordered - consume and overwrite
	// nothing makes kernel "overwrite" (work 2, stream 0x10000000001) wait for kernel "consume" (work 1, stream 0x10000000002): RecordStream(stream 0x10000000002) before lifetime 1 was freed, or an event recorded in stream 0x10000000002 and waited for by stream 0x10000000001, would
}

// The same bytes are filled in two streams. An event decides who is last, or, without
// it, luck.
func ExampleEnumerator() {
	for _, wait := range []bool{false, true} {
		last := map[byte]bool{}
		var e fakegpu.Enumerator
		for e.Next() {
			g := fakegpu.New(fakegpu.Config{Schedule: &e})
			p, _ := g.Malloc(0, 8)
			first, _ := g.CreateStream(0)
			second, _ := g.CreateStream(0)
			event, _ := g.CreateEvent(0)

			_ = g.Fill(0, first, spec.Range{Ptr: p, Bytes: 8}, 1)
			_ = g.RecordEvent(event, 0, first)
			if wait {
				_ = g.WaitEvent(0, second, event)
			}
			_ = g.Fill(0, second, spec.Range{Ptr: p, Bytes: 8}, 2)
			_ = g.SynchronizeDevice(0)

			data, _ := g.ReadBack(0, 0, spec.Range{Ptr: p, Bytes: 1})
			last[data[0]] = true
		}
		fmt.Println("waiting:", wait, "last:", last)
	}
	// Output:
	// waiting: false last: map[1:true 2:true]
	// waiting: true last: map[2:true]
}
