package tell_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/kept"
	"gaugeblock/internal/race"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// What is read of the records of random programs, what comes of them when they are played under each assumption, and what is
// predicted and told, stays as it was. Other tests say what of it is true; this one notices all that changes. testdata/answers.txt
// has a checksum of each answer, so that it says which step is the first that changed:
//
//	go test ./snapshot/tell -run TestKeptAnswers -rewrite-answers
//	go test ./snapshot/tell -run TestKeptAnswers -answers-of 7 -v     prints the answers

var answersOf = flag.Uint64("answers-of", 0, "print the answers of the program of this seed")

// mixedProgram is a program with streams, private pools and changing settings.
type mixedProgram struct {
	*rand.Rand
	driver *slowEvents
	alloc  *alloc.Allocator
	live   []spec.Ptr
	sizes  []uint64
	line   int
	// whether the program does so
	empties, changes, usesStreams, usesPools bool

	pool uint64 // the present private pool
}

// slowEvents is a device whose events complete some calls later.
type slowEvents struct {
	*fakegpu.GPU
	now   int
	until []int
}

func (d *slowEvents) CreateEvent(spec.Device) (spec.EventHandle, error) {
	d.until = append(d.until, 0)
	return spec.EventHandle(len(d.until)), nil
}

func (d *slowEvents) RecordEvent(e spec.EventHandle, _ spec.Device, s spec.Stream) error {
	d.until[e-1] = d.now + 2*int(s)
	return nil
}

func (d *slowEvents) QueryEvent(e spec.EventHandle) (bool, error) { return d.until[e-1] <= d.now, nil }

func (d *slowEvents) SynchronizeEvent(e spec.EventHandle) error {
	d.until[e-1] = 0
	return nil
}

func (d *slowEvents) SynchronizeStream(spec.Device, spec.Stream) error { return nil }

func (d *slowEvents) CaptureStatus(spec.Device, spec.Stream) (spec.CaptureInfo, error) {
	return spec.CaptureInfo{}, nil
}

// mixedRecord is the record of the program of a seed, and its settings.
func mixedRecord(seed uint64) (*snapshot.File, string, error) {
	const total = 1 << 40
	r := rand.New(rand.NewPCG(seed, 35))
	release := draw(r, "", "2.13", "2.15")
	rules, _ := upstream.Find(release)
	settings := draw(r, "", "", "expandable_segments:True", "garbage_collection_threshold:0.6", "max_split_size_mb:32", "roundup_power2_divisions:4")
	p := &mixedProgram{Rand: r, driver: &slowEvents{GPU: fakegpu.New(fakegpu.Config{
		Devices: fakegpu.Devices(1, total), Addresses: func(spec.Device) fakegpu.AddressPolicy { return fakegpu.RealLike(0) },
	})}}
	var err error
	if p.alloc, err = alloc.New(p.driver, alloc.Options{Settings: settings, Rules: rules.Rules}); err != nil {
		return nil, "", err
	}
	p.empties, p.changes, p.usesStreams, p.usesPools = r.IntN(3) == 0, r.IntN(6) == 0, r.IntN(2) == 0, r.IntN(3) == 0
	for range 3 + r.IntN(5) {
		p.sizes = append(p.sizes, draw(r, 1, spec.KiB, spec.MiB, spec.MiB)*uint64(1+r.IntN(40)))
	}
	steps := 40 + r.IntN(60)
	limitAt, late := steps/3, 0
	if r.IntN(3) == 0 {
		late = r.IntN(steps / 2)
	}
	limit := r.IntN(3)
	for i := range steps {
		if i == late {
			if err := p.record(); err != nil {
				return nil, "", err
			}
		}
		if i == limitAt && limit > 0 {
			room := statistics(p.alloc).PeakReserved * uint64(60+r.IntN(90)) / 100
			if limit == 1 {
				err = p.alloc.SetMemoryFraction(0, float64(room)/total)
			} else {
				p.driver.SetFreeMemory(0, room-min(room, p.driver.InUse(0)))
			}
		}
		if err == nil {
			err = p.step()
		}
		if err != nil {
			return nil, "", err
		}
	}
	file, err := fileOf(p.alloc)
	if err != nil {
		return nil, "", err
	}
	if r.IntN(4) == 0 {
		trace := file.DeviceTraces[0]
		file.DeviceTraces[0] = trace[min(len(trace), r.IntN(30)):]
	}
	file.Version = versionsOf[release]
	if r.IntN(8) == 0 {
		file.Version = versionsOf[""]
	}
	return file, settings, nil
}

func (p *mixedProgram) record() error {
	return p.alloc.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 1 << 16, Level: draw(p.Rand, spec.ContextAll, spec.ContextAlloc), Context: func() any {
		return snapshot.Frames{{Filename: "site-packages/torch/x.py", Line: 1, Name: "empty"}, {Filename: "train.py", Line: p.line, Name: "main"}}
	}})
}

// step is one call of the program.
func (p *mixedProgram) step() error {
	p.driver.now++
	p.line = p.IntN(9)
	k := p.IntN(40)
	switch {
	case k == 0 && p.empties:
		return p.alloc.EmptyCache()
	case k == 1 && p.changes && p.alloc.Config().GarbageCollectionThreshold == 0:
		return p.alloc.Configure("expandable_segments:" + draw(p.Rand, "True", "False"))
	case k < 16 && len(p.live) > 0:
		i := p.IntN(len(p.live))
		at := p.live[i]
		p.live = append(p.live[:i], p.live[i+1:]...)
		if p.usesStreams && p.IntN(4) == 0 {
			if err := p.alloc.RecordStream(at, 0, spec.Stream(1+p.IntN(2))); err != nil {
				return err
			}
		}
		return p.alloc.Free(at)
	}
	request := spec.Request{Bytes: p.sizes[p.IntN(len(p.sizes))]}
	id := spec.PoolID{User: 1 + p.pool}
	pooled := p.usesPools && k > 33
	if pooled {
		if err := p.alloc.BeginAllocateToPool(0, id, spec.ForThread(0)); err != nil {
			return err
		}
	}
	at, err := p.alloc.Malloc(request)
	if err == nil {
		p.live = append(p.live, at)
	}
	if errors.Is(err, spec.ErrOutOfMemory) {
		err = nil
	}
	if pooled {
		err = errors.Join(err, p.alloc.EndAllocateToPool(0, id))
		if p.IntN(2) == 0 {
			p.pool++
			err = errors.Join(err, p.alloc.ReleasePool(0, id))
		}
	}
	return err
}

// answers are the answers of a record, by what is asked.
func answers(f *snapshot.File, seed uint64) (list [][2]string, err error) {
	answer := func(what string, text any) {
		said, isText := text.(string)
		if !isText {
			var bytes []byte
			if bytes, err = json.Marshal(text); err != nil {
				bytes = []byte(err.Error())
			}
			said = string(bytes)
		}
		list = append(list, [2]string{what, said})
	}
	w, err := play.FromSnapshotOf(f, 0, history.ReleasesOf(f.Version))
	if none := new(history.WorkloadError); errors.As(err, &none) {
		answer("nothing", err.Error())
		return list, nil
	} else if err != nil {
		return nil, err
	}
	answer("requests", w.Requests)
	answer("limit", fmt.Sprint(w.Limit, w.Unrecorded, w.Refused, w.RetriesOpen, w.DoubtfulGarbage, w.ImpossibleStart, w.Release.Name, len(w.OtherReleases)))
	answer("readings", fmt.Sprint(w.Readings(), w.GivenReadings(history.Limits{Fraction: 100 * spec.MiB}), w.LikelyEmptied(), w.Rooms()))
	answer("start", []any{w.InitialSegments, w.PrivatePools, w.Allocations, w.Streams, w.StartsExpandable, w.AllocatedAtStart(), w.PeakRequested(), w.PeakAsked(), w.PeakRequest()})
	verified, outcome := play.RunAsRecorded(w, w.Readings()[0], nil)
	outcomeText, err := json.Marshal(outcome)
	if err != nil {
		return nil, err
	}
	var differences []string
	for i := range verified.Differences {
		differences = append(differences, fmt.Sprint(verified.Differences[i].Kind, verified.Differences[i].Entry, verified.Differences[i].Count, verified.Differences[i].Err))
	}
	answer("verified", fmt.Sprint(verified.Reading, verified.Allocations, verified.SameAddress, verified.Entries, differences)+string(outcomeText))
	for _, text := range []string{"", "expandable_segments:True"} {
		s, err := history.ParseSettings(text, w.Release)
		if err != nil {
			return nil, err
		}
		var outcomes []any
		for _, a := range assumptions(w) {
			peak, allocated := uint64(0), uint64(0)
			o, err := play.Run(w, play.RunOptions{Settings: s, Reading: w.Readings()[0], Assumptions: a, StopAtOOM: a.PackedStart, Watch: func(held uint64) { peak = max(peak, held) }, WatchAllocated: func(now uint64) { allocated += now }})
			outcomes = append(outcomes, a.Name, o, peak, allocated, o.Unallocated(), o.ReachesLimit(), fmt.Sprint(err))
		}
		answer("played "+text, outcomes)
	}
	c, err := compare.Compare(w, compare.Options{Settings: lateSettings, AsRecorded: seed%2 == 0, Limit: seed % 3 * 60 * spec.MiB * (seed % 2), Present: true, SearchLimit: seed%4 == 0, Jobs: 1})
	if err != nil {
		return nil, err
	}
	var figures []any
	for _, p := range c.Ranked() {
		r, open := p.PeakReservedRange()
		fails, known := p.Fails()
		figures = append(figures, p.Settings.Text, p.Outcome, fmt.Sprint(p.Reasons, p.SmallestLimit, p.Err, r, open, fails, known, p.UpToLimit(), p.OpenFailure(), p.OOMRuns(), p.Fits(), p.Figures()))
	}
	answer("predicted", figures)
	low, high := c.LimitRange()
	answer("cause", fmt.Sprint(c.Cause(), low, high, c.Failing(), c.PeakExceedsLimit(), c.Sureness(), c.NothingIsBetter(), c.AsksForLimit(), c.NeededLimit, c.NeededNow))
	a := tell.Answer{Comparison: c}
	answer("told", strings.Join([]string{a.Verdict(), a.Details(), a.HowSure(), a.LimitQuestion(), a.LimitNote(), a.ReleaseNote(), a.Export(), tell.Summary(w), tell.State(f, 0)}, "\n"))
	answer("table", a.Table(tell.TableOptions{All: seed%2 == 0, Width: int(40 + seed%90)}))
	answer("brief", fmt.Sprintf("%+v", a.Brief()))
	answer("json", a)
	return list, nil
}

// assumptions are those under which a workload can be played.
func assumptions(w *history.Workload) []play.Assumptions {
	list := append(append(append([]play.Assumptions{}, play.PlausibleDrivers...), play.ExtremeDrivers...), play.StreamDelays...)
	if !w.Complete() {
		list = append(list, play.PackedStart, play.WarmStart)
	}
	if len(w.PrivatePools) > 0 {
		list = append(list, play.NoPrivatePools)
	}
	return list
}

func TestKeptAnswers(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	var got strings.Builder
	for seed := uint64(1); seed <= 48; seed++ {
		f, settings, err := mixedRecord(seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		list, err := answers(f, seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		brief := ""
		fmt.Fprintf(&got, "%d %q", seed, settings)
		for _, a := range list {
			fmt.Fprintf(&got, " %s %s", a[0], kept.Sum(a[1]))
			if a[0] == "brief" || a[0] == "nothing" {
				brief = a[1]
			}
			if strings.Contains(a[1], " 0 bytes more than") { // where the limit is known by a range only
				t.Errorf("seed %d: %s", seed, a[1])
			}
			if *answersOf == seed {
				t.Logf("%s\n%s", a[0], a[1])
			}
		}
		fmt.Fprintf(&got, "\n\t%s\n", brief)
	}
	kept.Compare(t, "testdata/answers.txt", got.String())
}
