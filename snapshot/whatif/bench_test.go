package whatif_test

import (
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/snapshot/whatif"
)

// BenchmarkRun times runs of a training workload, in requests per second.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"gpt_varlen.default.nolimit", "long_generate.default.nolimit"} {
		for _, settings := range []string{"", "expandable_segments:True", "max_split_size_mb:64"} {
			b.Run(name+"/"+whatif.NameOf(settings), func(b *testing.B) {
				h := history(b, name)
				model := whatif.Assumptions{
					Addresses:       func() fakegpu.AddressPolicy { return fakegpu.RealLike(0) },
					CompletedBefore: func(_, until int32) int32 { return until },
				}
				for b.Loop() {
					if _, err := whatif.Run(h, whatif.RunOptions{Settings: settings, Assumptions: model}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*len(h.Requests))/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}
