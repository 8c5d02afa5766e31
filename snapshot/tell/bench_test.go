package tell_test

import (
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/upstream"
)

// BenchmarkRun times runs of a training workload, in requests per second.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"gpt_varlen.default.nolimit", "long_generate.default.nolimit"} {
		for _, text := range []string{"", "expandable_segments:True", "max_split_size_mb:64"} {
			b.Run(name+"/"+tell.NameOf(text), func(b *testing.B) {
				settings, err := history.ParseSettings(text, upstream.Newest())
				if err != nil {
					b.Fatal(err)
				}
				h := workloadOf(b, name)
				model := play.Assumptions{
					Addresses:       func() fakegpu.AddressPolicy { return fakegpu.RealLike(0) },
					CompletedBefore: func(_, until int32) int32 { return until },
				}
				for b.Loop() {
					if _, err := play.Run(h, play.RunOptions{Settings: settings, Assumptions: model}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*len(h.Requests))/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}
