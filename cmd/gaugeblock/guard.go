package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"gaugeblock/internal/quote"
)

// guard calls a function that works on one of several files. A mistake in this program
// that a file brings to light is an error of that file, and the others go on.
func guard(file string, work func()) (failed error) {
	defer func() {
		if failure := recover(); failure != nil {
			failed = fmt.Errorf("%s: gaugeblock failed here: %v%s", quote.Text(file), failure, where(string(debug.Stack())))
		}
	}()
	work()
	return nil
}

// where is the line of this project that a stack is about.
func where(stack string) string {
	_, below, _ := strings.Cut(stack, "panic(")
	for line := range strings.Lines(below) {
		if at, _, found := strings.Cut(line, " +0x"); found && strings.Contains(at, "gaugeblock") || strings.Contains(line, "/tests/") || strings.Contains(line, "/fakegpu/") || strings.Contains(line, "/alloc/") {
			return " (" + strings.TrimSpace(at[strings.LastIndex(at, "/")+1:]) + ")"
		}
	}
	return ""
}
