package compare

import (
	"errors"
	"fmt"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

const mib = spec.MiB

// other are settings that are not the present ones.
func other(t *testing.T, text string) history.Settings {
	t.Helper()
	s, err := history.ParseSettings(text, upstream.Newest())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compared is a comparison of the present settings with others, under limits of so many bytes.
func compared(kind history.LimitKind, limits []uint64, predictions ...Prediction) *Comparison {
	w := &history.Workload{Settings: history.DefaultSettings(), Limit: history.LimitBounds{Kind: kind}}
	c := &Comparison{Workload: w, Predictions: predictions}
	for _, bytes := range limits {
		r := history.Reading{Limits: history.Limits{Fraction: bytes}}
		if kind == history.DeviceLimit {
			r.Limits = history.Limits{Device: bytes}
		}
		c.Readings = append(c.Readings, r)
	}
	if len(limits) == 0 {
		c.Readings = []history.Reading{{}}
	} else {
		w.Limit.Least, w.Limit.Most = limits[0], limits[len(limits)-1]
	}
	return c
}

// failing is the present prediction, of which a request fails in so many of two runs.
func failing(oom play.OutOfMemory, runs int) Prediction {
	p := Prediction{Settings: history.DefaultSettings(), Outcome: play.Outcome{FirstOOM: &oom}, Runs: make([]CountedRun, 2)}
	for i := range runs {
		p.Runs[i].FirstOOM = &oom
	}
	return p
}

// peak is a workload's requests that have so much at one time.
func peak(w *history.Workload, bytes uint64) {
	w.Requests, w.Allocations = []history.Request{{Kind: history.Malloc, Bytes: bytes}}, 1
}

// TestCause: why a request failed, by what was free where, and how much is allowed.
func TestCause(t *testing.T) {
	asked := play.OutOfMemory{Requested: 30 * mib, Reserved: 100 * mib}
	with := func(change func(*play.OutOfMemory)) play.OutOfMemory {
		o := asked
		change(&o)
		return o
	}
	better := Prediction{Settings: other(t, "expandable_segments:True"), Runs: make([]CountedRun, 1)}
	for what, test := range map[string]struct {
		oom    play.OutOfMemory
		limits []uint64
		change func(*Comparison)
		want   Cause
	}{
		"nothing free":                                   {oom: asked, limits: []uint64{100 * mib}, want: Shortage},
		"free, but in pieces":                            {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 30 * mib }), limits: []uint64{100 * mib}, want: Fragmentation},
		"a little less is free":                          {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 30*mib - 1 }), limits: []uint64{100 * mib}, want: Shortage},
		"free, and what may be reserved":                 {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 20 * mib }), limits: []uint64{110 * mib}, want: Fragmentation},
		"free in another pool":                           {oom: with(func(o *play.OutOfMemory) { o.OwnFree, o.PrivateFree = 20*mib, 10*mib }), limits: []uint64{100 * mib}, want: PoolCause},
		"free in another pool, and what may be reserved": {oom: with(func(o *play.OutOfMemory) { o.OwnFree, o.PrivateFree = 10*mib, 10*mib }), limits: []uint64{110 * mib}, want: PoolCause},
		"a block of others' streams":                     {oom: with(func(o *play.OutOfMemory) { o.OwnFree, o.LargestFreeBlock = 40*mib, 30*mib }), limits: []uint64{100 * mib}, want: Shortage},
		"a block that is too small":                      {oom: with(func(o *play.OutOfMemory) { o.OwnFree, o.LargestFreeBlock = 40*mib, 30*mib-1 }), limits: []uint64{100 * mib}, want: Fragmentation},
		"it reserved more than it may":                   {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 29 * mib }), limits: []uint64{90 * mib}, want: Shortage},
		"more is requested than there is": {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 30 * mib }), limits: []uint64{100 * mib},
			change: func(c *Comparison) { peak(c.Workload, 101*mib) }, want: Shortage},
		"as much is requested as there is": {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 30 * mib }), limits: []uint64{100 * mib},
			change: func(c *Comparison) { peak(c.Workload, 100*mib) }, want: Fragmentation},
		"in a pool that is not told": {oom: with(func(o *play.OutOfMemory) { o.InPool = true }), limits: []uint64{100 * mib},
			change: func(c *Comparison) { c.Workload.Unrecorded.PoolFailures = 1 }, want: PoolCause},
		"another request, and a pool is not told": {oom: asked, limits: []uint64{100 * mib},
			change: func(c *Comparison) { c.Workload.Unrecorded.PoolFailures = 1 }, want: Shortage},
		"in a pool that is told":          {oom: with(func(o *play.OutOfMemory) { o.InPool = true }), limits: []uint64{100 * mib}, want: Shortage},
		"in pieces, if the most is meant": {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 20 * mib }), limits: []uint64{100 * mib, 110 * mib}, want: Shortage},
		"in pieces, if the most is meant, and others are better": {oom: with(func(o *play.OutOfMemory) { o.OwnFree = 20 * mib }), limits: []uint64{100 * mib, 110 * mib},
			change: func(c *Comparison) { c.Predictions = append(c.Predictions, better) }, want: Fragmentation},
		"others are better": {oom: asked, limits: []uint64{100 * mib},
			change: func(c *Comparison) { c.Predictions = append(c.Predictions, better) }, want: Shortage},
		"nothing fails": {limits: []uint64{100 * mib}, change: func(c *Comparison) { c.Predictions[0].FirstOOM = nil }, want: NoCause},
		"no prediction": {limits: []uint64{100 * mib}, change: func(c *Comparison) { c.Predictions[0].Err = errors.New("not possible") }, want: UnknownCause},
		"a failure that is not reproduced": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			c.Predictions[0].Recorded, c.Workload.Unrecorded.OOMs, c.Verification.Differences = true, 1, make([]play.Difference, 1)
		}, want: UnknownCause},
		"a failure that is reproduced": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			c.Predictions[0].Recorded, c.Workload.Unrecorded.OOMs = true, 1
		}, want: Shortage},
		"nothing failed, and it is not reproduced": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			c.Predictions[0].Recorded, c.Verification.Differences = true, make([]play.Difference, 1)
		}, want: Shortage},
		"a failure under another limit": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			c.Workload.Unrecorded.OOMs, c.Verification.Differences = 1, make([]play.Difference, 1)
		}, want: Shortage},
		"the record has no failure": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			c.Predictions[0].FirstOOM, c.Predictions[0].LastOOM = nil, &asked
			c.Workload.Requests = []history.Request{{Kind: history.FailedMalloc, Bytes: 30 * mib}}
		}, want: NoCause},
		"no present settings": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) { c.Predictions = nil }, want: NoCause},
		"another request that is not the end": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			last := with(func(o *play.OutOfMemory) { o.OwnFree = 30 * mib })
			c.Predictions[0].LastOOM = &last
		}, want: Shortage},
		"the same request at the end": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			c.Workload.Requests = []history.Request{{Kind: history.FailedMalloc, Bytes: 30 * mib}}
		}, want: Shortage},
		"another request at the end": {oom: asked, limits: []uint64{100 * mib}, change: func(c *Comparison) {
			last := with(func(o *play.OutOfMemory) { o.OwnFree = 30 * mib })
			c.Predictions[0].LastOOM, c.Workload.Requests = &last, []history.Request{{Kind: history.FailedMalloc, Bytes: 30 * mib}}
		}, want: Fragmentation},
	} {
		c := compared(history.FractionLimit, test.limits, failing(test.oom, 2))
		if test.change != nil {
			test.change(c)
		}
		if got := c.Cause(); got != test.want {
			t.Errorf("%s: %s, not %s", what, got, test.want)
		}
	}
}

// TestCauseOnFullDevice: where other processes had the rest of the device.
func TestCauseOnFullDevice(t *testing.T) {
	asked := play.OutOfMemory{Requested: 30 * mib, Reserved: 100 * mib, OwnFree: 10 * mib}
	for what, test := range map[string]struct {
		least, most, reserved uint64
		moved, given          bool
		asked                 uint64
		want                  Cause
	}{
		"it stayed as it was":             {100 * mib, 110 * mib, 100 * mib, false, false, 30 * mib, Shortage},
		"others took what had been there": {100 * mib, 130 * mib, 100 * mib, true, false, 30 * mib, OtherProcess},
		"others took what it had":         {100 * mib, 110 * mib, 120 * mib, true, false, 30 * mib, OtherProcess},
		"others took what does not help":  {100 * mib, 110 * mib, 110 * mib, true, false, 30 * mib, Shortage},
		"a limit is given":                {100 * mib, 130 * mib, 100 * mib, true, true, 30 * mib, Shortage},
		"one request above all":           {100 * mib, 110 * mib, 100 * mib, false, false, 111 * mib, Shortage},
		"one request of all":              {100 * mib, 110 * mib, 100 * mib, false, false, 110 * mib, Fragmentation},
		"one request above what is given": {100 * mib, 110 * mib, 100 * mib, false, true, 111 * mib, Fragmentation},
		"one request above all then":      {100 * mib, 110 * mib, 100 * mib, true, false, 111 * mib, Fragmentation},
	} {
		oom := asked
		oom.Requested = test.asked
		if test.asked > 100*mib {
			oom.OwnFree = 120 * mib
		}
		p := failing(oom, 2)
		p.PeakReserved = test.reserved
		c := compared(history.DeviceLimit, []uint64{test.least, test.most}, p)
		c.Workload.Limit.Moved, c.Given = test.moved, test.given
		if got := c.Cause(); got != test.want {
			t.Errorf("%s: %s, not %s", what, got, test.want)
		}
		c.Predictions = append(c.Predictions, Prediction{Settings: other(t, "expandable_segments:True"), Runs: make([]CountedRun, 1)})
		if got := c.Cause(); test.want == OtherProcess && got != test.want {
			t.Errorf("%s, and others are better: %s", what, got)
		}
	}
}

// A request above a memory fraction is no shortage of the device.
func TestCauseUnderFraction(t *testing.T) {
	c := compared(history.FractionLimit, []uint64{100 * mib}, failing(play.OutOfMemory{Requested: 111 * mib, OwnFree: 120 * mib}, 2))
	if got := c.Cause(); got != Fragmentation {
		t.Error(got)
	}
}

// TestLimitRange: from the smallest to the largest limit of the likeliest reading.
func TestLimitRange(t *testing.T) {
	reading := func(bytes uint64, emptied, drift bool) history.Reading {
		return history.Reading{Limits: history.Limits{Fraction: bytes}, EmptyCache: emptied, Drift: drift}
	}
	for what, test := range map[string]struct {
		kind      history.LimitKind
		given     bool
		readings  []history.Reading
		low, high uint64
	}{
		"none":                    {history.NoLimit, false, []history.Reading{reading(0, true, false)}, 0, 0},
		"one":                     {history.FractionLimit, false, []history.Reading{reading(7, false, false)}, 7, 7},
		"several, in any order":   {history.FractionLimit, false, []history.Reading{reading(7, false, false), reading(9, false, false), reading(5, false, false), reading(6, false, false)}, 5, 9},
		"without drift":           {history.FractionLimit, false, []history.Reading{reading(7, false, false), reading(5, false, true), reading(9, false, true)}, 7, 7},
		"of one kind":             {history.UnknownLimit, false, []history.Reading{reading(7, false, false), reading(9, true, false), reading(5, true, false)}, 7, 7},
		"perhaps none":            {history.UnknownLimit, false, []history.Reading{reading(0, false, false), reading(7, false, false), reading(8, false, false)}, 7, 8},
		"in the end perhaps none": {history.UnknownLimit, false, []history.Reading{reading(7, false, false), reading(0, false, false)}, 7, 7},
		"none, or then":           {history.UnknownLimit, false, []history.Reading{reading(0, true, false), reading(7, false, false), reading(8, false, false)}, 7, 8},
		"given":                   {history.FractionLimit, true, []history.Reading{reading(7, false, false), reading(7, true, false)}, 7, 7},
		"a full device":           {history.DeviceLimit, false, []history.Reading{reading(7, false, false)}, 100, 110},
		"given, on a full device": {history.DeviceLimit, true, []history.Reading{reading(7, false, false)}, 7, 7},
	} {
		c := &Comparison{Workload: &history.Workload{Limit: history.LimitBounds{Kind: test.kind, Least: 100, Most: 110}}, Given: test.given, Readings: test.readings}
		if low, high := c.LimitRange(); low != test.low || high != test.high {
			t.Errorf("%s: from %d to %d, not from %d to %d", what, low, high, test.low, test.high)
		}
	}
}

// TestLargestHolders: who holds most after a request, by the line that allocated, the start, or the size.
func TestLargestHolders(t *testing.T) {
	at := func(line int) *snapshot.Context {
		return &snapshot.Context{Frames: snapshot.Frames{{Filename: "train.py", Line: line, Name: "step"}}}
	}
	first := at(1)
	w := &history.Workload{Allocations: 9}
	add := func(kind history.RequestKind, id int32, bytes uint64, context *snapshot.Context) {
		w.Requests = append(w.Requests, history.Request{Kind: kind, ID: id, Bytes: bytes, Entry: int32(len(w.Trace))})
		w.Trace = append(w.Trace, snapshot.TraceEntry{Context: context})
	}
	add(history.Malloc, 0, 10, first)
	add(history.Malloc, 1, 20, at(2))
	add(history.Malloc, 2, 15, at(1)) // another stack of the same line
	add(history.FailedMalloc, 3, 500, at(2))
	add(history.Malloc, 4, 40, nil)
	add(history.Free, 1, 20, nil)
	add(history.Malloc, 5, 1, first)
	add(history.Malloc, 6, 900, at(3))
	add(history.Malloc, 7, 41, nil)
	add(history.Free, 0, 10, nil)
	tell := func(list []Holder) (text string) {
		for _, h := range list {
			line := 0
			if h.Entry != nil {
				line = h.Entry.Context.Frames[0].Line
			}
			text += fmt.Sprintf("%d: %d of %d; ", line, h.Bytes, h.Count)
		}
		return text
	}
	for _, test := range []struct {
		requests, most int
		want           string
	}{
		{7, 9, "0: 40 of 1; 1: 26 of 3; "},
		{7, 1, "0: 40 of 1; "},
		{5, 9, "0: 40 of 1; 1: 25 of 2; 2: 20 of 1; "},
		{1, 9, "1: 10 of 1; "},
		{8, 2, "3: 900 of 1; 0: 40 of 1; "},
		{10, 9, "3: 900 of 1; 0: 41 of 1; 0: 40 of 1; 1: 16 of 2; "},
	} {
		if got := tell(LargestHolders(w, test.requests, test.most)); got != test.want {
			t.Errorf("after %d, %d: %s, not %s", test.requests, test.most, got, test.want)
		}
	}
	failed := &history.Workload{Allocations: 1, Requests: []history.Request{{Kind: history.FailedMalloc, Bytes: 30}}, Trace: make([]snapshot.TraceEntry, 1)}
	if got := LargestHolders(failed, 1, 9); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	start := &history.Workload{Allocations: 3, Requests: []history.Request{{Kind: history.Malloc, ID: 2, Bytes: 30}}, Trace: make([]snapshot.TraceEntry, 1)}
	start.InitialSegments = []spec.Segment{{Blocks: []spec.Block{{RequestedSize: 50, State: spec.ActiveAllocated}, {RequestedSize: 60, State: spec.ActiveAllocated}}}}
	if got := LargestHolders(start, 1, 9); len(got) != 2 || !got[0].Start || got[0].Bytes != 110 || got[0].Count != 2 || got[1].Start {
		t.Errorf("%+v", got)
	}
}

// TestPeakExceedsLimit: what is requested at one time says so, but not where the limit has changed.
func TestPeakExceedsLimit(t *testing.T) {
	for what, test := range map[string]struct {
		limits       []uint64
		peak         uint64
		moved, given bool
		want         bool
	}{
		"no limit":                      {nil, 100 * mib, false, false, false},
		"below the limit":               {[]uint64{100 * mib}, 99 * mib, false, false, false},
		"the limit":                     {[]uint64{100 * mib}, 100 * mib, false, false, false},
		"above the limit":               {[]uint64{100 * mib}, 101 * mib, false, false, true},
		"above the least":               {[]uint64{100 * mib, 110 * mib}, 101 * mib, false, false, false},
		"above the most":                {[]uint64{100 * mib, 110 * mib}, 111 * mib, false, false, true},
		"others took some":              {[]uint64{100 * mib}, 101 * mib, true, false, false},
		"others took some, and given":   {[]uint64{100 * mib}, 101 * mib, true, true, true},
		"given, and as much as that is": {[]uint64{100 * mib}, 100 * mib, false, true, false},
	} {
		c := compared(history.FractionLimit, test.limits)
		peak(c.Workload, test.peak)
		c.Workload.Limit.Moved, c.Given = test.moved, test.given
		if got := c.PeakExceedsLimit(); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	for bytes, want := range map[uint64]uint64{0: 0, 1: 2 * mib, 2 * mib: 2 * mib, 2*mib + 1: 4 * mib} {
		if got := ReservedFor(bytes); got != want {
			t.Errorf("%d bytes take %d", bytes, got)
		}
	}
}

// TestSureness: how sure a verdict is, by what the record leaves open of the present and the advised settings.
func TestSureness(t *testing.T) {
	reserves := func(settings history.Settings, bytes uint64, reasons ...InexactReason) Prediction {
		p := Prediction{Settings: settings, Reasons: reasons, Runs: []CountedRun{{}}}
		p.PeakReserved = bytes
		p.Runs[0].reserved.include(bytes)
		return p
	}
	now, better := history.DefaultSettings(), other(t, "expandable_segments:True")
	full := func(settings history.Settings, runs int, reasons ...InexactReason) Prediction {
		p := failing(play.OutOfMemory{Requested: 30 * mib, Reserved: 100 * mib}, runs)
		p.Settings, p.Reasons = settings, reasons
		return p
	}
	open := func(p Prediction) Prediction { p.failureOpen = true; return p }
	dependsOnLimit := func(p Prediction, fits uint64) Prediction {
		p.fits = fits
		for i := range p.Runs {
			p.Runs[i].assumptions, p.Runs[i].limit = play.MeasuredDriver.Name, uint64(i+1)*100*mib
		}
		if p.Runs[0].FirstOOM == nil {
			p.FirstOOM = nil
		}
		return p
	}
	spared := full(better, 1)
	spared.FirstOOM = nil
	lower := reserves(better, 1000*mib)
	lower.between.include(500 * mib)
	for what, test := range map[string]struct {
		predictions []Prediction
		limits      []uint64
		change      func(*Comparison)
		want        Sureness
	}{
		"nothing fails, and nothing is better":        {predictions: []Prediction{reserves(now, 1000*mib), reserves(better, 1000*mib)}, want: ExactVerdict},
		"less is reserved otherwise":                  {predictions: []Prediction{reserves(now, 1000*mib), reserves(better, 500*mib)}, want: ExactVerdict},
		"less may be reserved otherwise":              {predictions: []Prediction{reserves(now, 1000*mib), lower}, want: OpenVerdict},
		"the record is not reproduced":                {predictions: []Prediction{reserves(now, 1000*mib)}, change: func(c *Comparison) { c.Verification.Differences = make([]play.Difference, 1) }, want: UnknownVerdict},
		"no prediction":                               {predictions: []Prediction{{Settings: now, Err: errors.New("not possible")}}, want: UnknownVerdict},
		"nothing fails, whatever the addresses are":   {predictions: []Prediction{reserves(now, 1000*mib, DriverAddresses)}, want: SureVerdict},
		"nothing fails, and streams have a say":       {predictions: []Prediction{reserves(now, 1000*mib, StreamTiming)}, want: LikelyVerdict},
		"nothing fails, or it does":                   {predictions: []Prediction{open(reserves(now, 1000*mib, DriverAddresses))}, want: LikelyVerdict},
		"it fails, and others do not":                 {predictions: []Prediction{full(now, 2), reserves(better, 90*mib)}, limits: []uint64{100 * mib}, want: ExactVerdict},
		"it fails, and others hardly":                 {predictions: []Prediction{full(now, 2, DriverAddresses), reserves(better, 90*mib, DriverAddresses)}, limits: []uint64{100 * mib}, want: SureVerdict},
		"it fails, and others likely do not":          {predictions: []Prediction{full(now, 2, DriverAddresses), reserves(better, 90*mib, StreamTiming)}, limits: []uint64{100 * mib}, want: LikelyVerdict},
		"it likely fails, and others do not":          {predictions: []Prediction{full(now, 2, StreamTiming), reserves(better, 90*mib, DriverAddresses)}, limits: []uint64{100 * mib}, want: LikelyVerdict},
		"all fail":                                    {predictions: []Prediction{full(now, 2, DriverAddresses), full(better, 2, DriverAddresses)}, limits: []uint64{100 * mib}, want: SureVerdict},
		"all fail, others likely":                     {predictions: []Prediction{full(now, 2, DriverAddresses), full(better, 2, StreamTiming)}, limits: []uint64{100 * mib}, want: LikelyVerdict},
		"all fail, since more is requested":           {predictions: []Prediction{full(now, 2, DriverAddresses), full(better, 2, StreamTiming)}, limits: []uint64{100 * mib}, change: func(c *Comparison) { peak(c.Workload, 101*mib) }, want: SureVerdict},
		"the limit decides, and settings are advised": {predictions: []Prediction{full(now, 2, LimitNotTold), dependsOnLimit(spared, 200*mib)}, limits: []uint64{100 * mib, 200 * mib}, want: LimitVerdict},
		"the limit decides about the present ones":    {predictions: []Prediction{dependsOnLimit(full(now, 1, LimitNotTold), 200*mib)}, limits: []uint64{100 * mib, 200 * mib}, want: LimitVerdict},
		"the limit decides, and none is known":        {predictions: []Prediction{dependsOnLimit(full(now, 1, LimitNotTold), 0)}, limits: []uint64{100 * mib, 200 * mib}, want: LikelyVerdict},
	} {
		c := compared(history.FractionLimit, test.limits, test.predictions...)
		if test.change != nil {
			test.change(c)
		}
		if got := c.Sureness(); got != test.want {
			t.Errorf("%s: %s, not %s", what, got, test.want)
		}
	}
}
