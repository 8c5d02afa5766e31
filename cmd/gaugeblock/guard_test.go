package main

import (
	"strings"
	"testing"
)

// TestGuard: a panic is an error of the file, with the place where it happened.
func TestGuard(t *testing.T) {
	var none []int
	err := guard("a\x1b.csv", func() { none[3] = 1 })
	if err == nil || !strings.HasPrefix(err.Error(), `a\u001b.csv: gaugeblock failed here: runtime error: index out of range [3]`) || !strings.Contains(err.Error(), "guard_test.go:") {
		t.Error(err)
	}
	if err := guard("b.csv", func() {}); err != nil {
		t.Error(err)
	}
}
