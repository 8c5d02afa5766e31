// Command build builds the libraries of the fake GPU, the machine among them, in a directory:
//
//	go run ./fakegpu/cuda/build DIR
//
// It is run in the module, and needs a C compiler.
package main

import (
	"fmt"
	"os"

	"gaugeblock/fakegpu/cuda"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: build DIR")
		os.Exit(2)
	}
	err := os.MkdirAll(os.Args[1], 0o755)
	if err == nil {
		err = cuda.Build(os.Args[1])
	}
	if err == nil {
		err = cuda.BuildThin(os.Args[1], nil)
	}
	if err == nil {
		err = cuda.BuildMachine(".", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
