// Command skips reads what "go test -json" writes, shows what "go test" shows without
// -json, and fails if a test was skipped that skips.txt does not expect:
//
//	go test -json ./... | go run ./tests/skips
//
// Its exit status is 1 as well if a test or package failed, or if there are no results.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
)

//go:embed skips.txt
var expected string

func main() {
	short := flag.Bool("short", false, "the tests run with -short")
	flag.Parse()
	list, err := readList(expected)
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips.txt:", err)
		os.Exit(2)
	}
	failed, err := follow(os.Stdin, os.Stdout, list, *short)
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}
