package torch

import (
	"testing"

	"gaugeblock/conformance"
)

// BenchmarkLockstep compares operations of each area: an iteration is one operation.
func BenchmarkLockstep(b *testing.B) {
	open(b)
	for _, name := range comparableAreas() {
		b.Run(name, func(b *testing.B) {
			for done, seed := 0, uint64(1); done < b.N; seed++ {
				o, err := Run(conformance.Find(name), seed, Conditions{Length: 1000, Every: 100}, func(int) {}, nil)
				if err != nil {
					b.Fatal(err)
				}
				done += o.Operations
			}
		})
	}
}
