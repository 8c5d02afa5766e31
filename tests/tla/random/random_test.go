package main

import (
	"math/rand/v2"
	"testing"
)

// TestDraw: the configurations that are drawn can be explored, and no property fails in them; a
// seed draws the same twice.
func TestDraw(t *testing.T) {
	modules := map[string]bool{}
	for seed := range uint64(24) {
		c, err := drawSmall(rand.New(rand.NewPCG(seed, 0)), 600)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if v := c.model.Violation; v != nil {
			t.Errorf("seed %d: %s fails, after %d steps:\n%s", seed, v.Property, len(v.Trace)-1, c.text)
			for _, step := range v.Trace {
				t.Log(step.Label)
			}
		}
		again, err := drawSmall(rand.New(rand.NewPCG(seed, 0)), 600)
		if err != nil || again.text != c.text {
			t.Errorf("seed %d draws another configuration: %v", seed, err)
		}
		modules[c.module] = true
	}
	if len(modules) < 5 {
		t.Errorf("only %d modules", len(modules))
	}
}
