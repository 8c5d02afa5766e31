package tell

import (
	"encoding/json"
	"errors"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

const limit = 100 * spec.MiB

// failedAt is a run whose only request fails.
func failedAt() play.Outcome {
	return play.Outcome{FirstOOM: &play.OutOfMemory{Number: 1, Requested: 40 * spec.MiB, Reserved: 90 * spec.MiB, Allocated: 70 * spec.MiB, OwnFree: 20 * spec.MiB, LargestFreeBlock: 5 * spec.MiB}}
}

// said is a comparison of a workload of one request, which fails under the default settings on a full device.
func said() *compare.Comparison {
	w := &history.Workload{
		Settings: history.DefaultSettings(), Mallocs: 1, Requests: []history.Request{{Kind: history.FailedMalloc, Bytes: 40 * spec.MiB}}, Allocations: 1, Trace: []snapshot.TraceEntry{{Context: history.NoContext}},
		Limit: history.LimitBounds{Kind: history.DeviceLimit, Least: limit, Most: limit}, Release: upstream.Newest(), Version: snapshot.Version{Least: 11, Most: 11},
	}
	now := compare.Prediction{Settings: history.DefaultSettings(), Outcome: failedAt(), Recorded: true}
	now.Runs = []compare.CountedRun{{Outcome: now.Outcome}}
	return &compare.Comparison{Workload: w, Predictions: []compare.Prediction{now}, Readings: []history.Reading{{Limits: history.Limits{Device: limit}}}, Limit: limit}
}

// advise adds settings with which the request does not fail.
func advise(t *testing.T, c *compare.Comparison, settings string, fraction uint64) {
	c.Predictions = append(c.Predictions, compare.Prediction{Settings: mustParse(t, settings), Fraction: fraction, Runs: make([]compare.CountedRun, 1)})
}

// TestSaid: whole texts of comparisons that no record of the other tests leads to.
func TestSaid(t *testing.T) {
	const collected, long = "garbage_collection_threshold:0.6", "garbage_collection_threshold:0.6,roundup_power2_divisions:[1:2,64:4,>:8]"
	cannot := errors.New("the block at 0x7f0000000000 has no bytes")
	try := func(c Answer) string { return c.Brief().Try }
	for _, test := range []struct {
		what   string
		change func(c *compare.Comparison)
		said   func(c Answer) string
		want   string
	}{
		{"requests that cannot be repeated", func(c *compare.Comparison) {
			c.Predictions[0].Outcome, c.Predictions[0].Runs, c.Predictions[0].Err = play.Outcome{}, nil, cannot
		}, func(c Answer) string { return c.Brief().Happened + "|" + c.Verdict() },
			"Nothing can be told: the requests of the record cannot be repeated|With the default settings the recorded requests cannot be repeated: the block at 0x7f0000000000 has no bytes. None of the settings can be predicted."},
		{"other settings than the recorded ones, and not the default ones", func(c *compare.Comparison) {
			c.Predictions[0].Settings, c.Predictions[0].Recorded = mustParse(t, "max_split_size_mb:64"), false
		}, func(c Answer) string { return c.Brief().Happened + "|" + c.Brief().Try + "|" + c.do() },
			"Predicted: out of memory at request 1 with max_split_size_mb:64: asked for 40.00 MiB, 70.00 MiB a...|nothing: no other settings are clearly better|"},
		{"a memory fraction of a device whose memory is known", func(c *compare.Comparison) { c.Workload.DeviceMemory = 16 * limit; advise(t, c, collected, limit) }, try,
			"garbage_collection_threshold:0.6, and set_per_process_memory_fraction(0.062500)"},
		{"a memory fraction, and a call that is too long", func(c *compare.Comparison) { advise(t, c, collected, limit) }, try,
			"garbage_collection_threshold:0.6, and a memory fraction of 100.00 MiB: see --why"},
		{"a memory fraction, and settings that are too long", func(c *compare.Comparison) { advise(t, c, long, limit) }, try,
			"the settings that --why names (PYTORCH_ALLOC_CONF), and a memory fraction of 100.00 MiB"},
		{"a memory fraction of a device whose memory is not known", func(c *compare.Comparison) { c.Workload.Device = 1; advise(t, c, collected, limit) }, Answer.do,
			"Set garbage_collection_threshold:0.6 together with a memory fraction of 104857600 bytes (torch.cuda.set_per_process_memory_fraction(104857600 / torch.cuda.get_device_properties(1).total_memory)), without which part of the settings has no effect: with both the same requests reserve at most 0 bytes, and none fails."},
		{"settings of a later release", func(c *compare.Comparison) { c.Workload.Version.Least = 8; advise(t, c, "large_segment_size_mb:12", 0) }, Answer.do,
			"Set large_segment_size_mb:12: with it the same requests reserve at most 0 bytes, and none fails. (That needs PyTorch 2.11 or later.)"},
		{"how sure a prediction is that was not made", func(c *compare.Comparison) {
			c.Predictions[0].Outcome, c.Predictions[0].Runs, c.Predictions[0].Err = play.Outcome{}, nil, cannot
		}, Answer.HowSure, ""},
		{"nothing is allocated when the request fails", func(*compare.Comparison) {}, func(c Answer) string { return c.holders(c.Failing()) }, ""},
		{"free memory of a private pool", func(*compare.Comparison) {}, func(c Answer) string {
			return c.fragmentation(&play.OutOfMemory{InPool: true, OwnFree: 3 * spec.MiB, Requested: 2 * spec.MiB, LargestFreeBlock: spec.MiB})
		}, "Cause: fragmentation. 3.00 MiB is reserved but free in the private pool of the request, enough for the request in one piece; but no free block is larger than 1024.00 KiB."},
		{"both limits are given", func(c *compare.Comparison) { c.Given, c.Readings[0].Fraction = true, 2*limit }, Answer.under, ", a memory fraction that allows 200.00 MiB, and 100.00 MiB of device memory"},
		{"the device's memory is given", func(c *compare.Comparison) { c.Given = true }, func(c Answer) string { return c.under() + "|" + c.LimitNote() }, " and 100.00 MiB of device memory|Limit: 104857600 bytes (100.00 MiB)."},
		{"the recorded limit is a fraction", func(c *compare.Comparison) { c.Workload.Limit.Kind = history.FractionLimit }, Answer.LimitNote,
			"Limit: a memory fraction that allows 104857600 bytes (100.00 MiB), as the record shows. --limit sets another."},
		{"the device had nothing free", func(c *compare.Comparison) { c.Workload.Limit.Least, c.Workload.Limit.Most = 1, 1 }, Answer.LimitNote,
			"Limit: the device had no memory free, as the record shows. --device-memory sets another."},
		{"a limit of an unknown kind", func(c *compare.Comparison) { c.Workload.Limit.Kind = history.UnknownLimit }, Answer.LimitNote,
			"Limit: 104857600 bytes (100.00 MiB); the record does not tell whether a memory fraction or a full device. --limit or --device-memory sets another."},
		{"probably no limit", func(c *compare.Comparison) {
			c.Workload.Limit = history.LimitBounds{Kind: history.UnknownLimit, Least: limit, Most: 2 * limit}
			c.Workload.Unrecorded.DoubtfulFrees, c.Workload.Unrecorded.Refusals = 1, 1
		}, Answer.LimitNote, "Limit: none, or 104857600 bytes (100.00 MiB): the record does not tell. --limit sets one."},
		{"another backend", func(c *compare.Comparison) { c.Workload.Marks.Backend = "hip" }, Answer.ReleaseNote,
			"Predicted by the rules of PyTorch " + upstream.Newest().Name + ". The record is of hip, and the decisions are those of CUDA's allocator."},
		{"collectives", func(*compare.Comparison) {}, func(c Answer) string { return c.explain(compare.Collectives, nil)[0] },
			"memory is freed when collectives of several processes are done, and when that is differs from run to run: how much other settings reserve cannot be told from one run"},
		{"cached segments may have been garbage", func(c *compare.Comparison) { c.Workload.DoubtfulGarbage = true }, Answer.limitNotTold,
			"cached segments were freed, and the record does not tell whether by empty_cache or by garbage collection under a memory fraction of at most 100.00 MiB"},
		{"an entry after the end", func(*compare.Comparison) {}, func(Answer) string {
			return difference(&play.Difference{Kind: play.EntryAfterEnd, Replayed: spec.TraceEntry{Action: spec.ActionAlloc, Size: 512}})
		}, "after the last recorded entry there is alloc of 512 bytes"},
		{"a trace without an end", func(c *compare.Comparison) { c.Workload.NoEnd, c.Workload.DurationUS = true, 2500 }, func(c Answer) string { return Summary(c.Workload) },
			"1 request for memory of device 0, recorded over 2.5 milliseconds; the trace has no end: it may have been cut off, and what came later is not known."},
	} {
		c := said()
		test.change(c)
		if got := test.said(Answer{c}); got != test.want {
			t.Errorf("%s:\n%s\nnot\n%s", test.what, got, test.want)
		}
	}
}

// TestAdviceOfFraction: JSON has a memory fraction as a number, or as an expression where the device's memory is not known.
func TestAdviceOfFraction(t *testing.T) {
	for total, want := range map[uint64]any{
		0:          "104857600 / torch.cuda.get_device_properties(0).total_memory",
		16 * limit: 0.0625,
	} {
		c := said()
		c.Workload.DeviceMemory = total
		advise(t, c, "garbage_collection_threshold:0.6", limit)
		text, err := json.Marshal(Answer{c})
		var got struct{ Advice map[string]any }
		if err = errors.Join(err, json.Unmarshal(text, &got)); err != nil || got.Advice["memory_fraction"] != want || got.Advice["sure"] != true {
			t.Errorf("a device of %d bytes: %v, %v", total, got.Advice, err)
		}
	}
	text, err := json.Marshal(NothingToCompare(3))
	if want := `{"brief":null,"cause":"unknown","limit":{"kind":"unknown","bytes":null,"range":null},"failing_request":null,"outside":null,"advice":null,"release":"","device":3,"certainty":"unknown","sureness":"unknown","rows":[]}`; string(text) != want || err != nil {
		t.Errorf("nothing to compare: %s, %v", text, err)
	}
}
