//go:build cgo && linux

// Package getenv reads the environment for code in a library that a program without Go loads.
//
// Go's runtime takes the variables from where the process got them when it began. That misses what the program has
// changed since, and is overwritten by those that write a title for the process there, as setproctitle does.
package getenv

// #include <stdlib.h>
import "C"

import "unsafe"

// Get is the value that C's getenv gives, "" without one.
func Get(variable string) string {
	name := C.CString(variable)
	defer C.free(unsafe.Pointer(name))
	return C.GoString(C.getenv(name))
}
