//go:build !cgo || !linux

package main

import "errors"

// benchmark needs cgo, to load PyTorch's libraries.
func benchmark(options) error {
	return errors.New("this program was built without cgo, or not for Linux")
}
