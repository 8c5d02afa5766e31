//go:build cgo && linux

package main

/*
#include <stdint.h>
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"gaugeblock/fakegpu/cuda/host"
	"gaugeblock/internal/getenv"
)

// setUp makes the machine, at the first call. A program that is told nonsense ends.
var setUp = sync.OnceFunc(func() {
	p, err := host.FromEnvironment(getenv.Get)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake CUDA:", err)
		os.Exit(2)
	}
	host.Attach(p)
})

//export gaugeblock_machine_call
func gaugeblock_machine_call(operation C.int32_t, words *C.uint64_t) C.int32_t {
	setUp()
	return C.int32_t(host.Call(int32(operation), (*[8]uint64)(unsafe.Pointer(words))))
}
