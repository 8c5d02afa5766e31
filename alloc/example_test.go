package alloc_test

import (
	"fmt"
	"log"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// Memory that another stream used is reused only when that stream has completed its
// work.
func Example() {
	gpu := fakegpu.New(fakegpu.Config{}) // or any spec.Driver
	a, err := alloc.New(gpu, alloc.Options{Settings: "roundup_power2_divisions:8"})
	if err != nil {
		log.Fatal(err)
	}
	mine, _ := gpu.CreateStream(0)
	other, _ := gpu.CreateStream(0)

	p, err := a.Malloc(spec.Request{Stream: mine, Bytes: 5 << 20})
	if err != nil {
		log.Fatal(err)
	}
	_ = a.RecordStream(p, 0, other) // work on another stream uses it too
	_ = gpu.Busy(0, other)          // and takes its time
	_ = a.Free(p)

	q, _ := a.Malloc(spec.Request{Stream: mine, Bytes: 5 << 20})
	fmt.Println("while the other stream is busy, the same memory again:", q == p)

	_ = gpu.Drain(0, other)
	r, _ := a.Malloc(spec.Request{Stream: mine, Bytes: 5 << 20})
	fmt.Println("when it is through, the same memory again:", r == p)
	// Output:
	// while the other stream is busy, the same memory again: false
	// when it is through, the same memory again: true
}
