package explore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/model/explore"
)

// together explores with some shards at the same time.
func together[S any](dir string, s explore.Specification[S], shards int, options func(shard int) explore.Options[S]) (results []explore.Result[S], errs []error) {
	results, errs = make([]explore.Result[S], shards), make([]error, shards)
	var all sync.WaitGroup
	for i := range shards {
		all.Go(func() {
			results[i], errs[i] = explore.ExploreWith(s, options(i+1), explore.Resources{
				Dir: dir, Identity: "together", Shard: explore.Shard{Index: i + 1, Of: shards},
			})
		})
	}
	all.Wait()
	return results, errs
}

// merged adds up the results of shards.
func merged[S any](results []explore.Result[S]) (all explore.Result[S]) {
	for _, r := range results {
		all.States += r.States
		all.Edges += r.Edges
		all.Generated += r.Generated
		all.Depth = max(all.Depth, r.Depth)
		all.StateSum, all.EdgeSum = all.StateSum.Add(r.StateSum), all.EdgeSum.Add(r.EdgeSum)
	}
	return all
}

func checkErrors(t interface{ Fatal(...any) }, errs []error) {
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoppedShardClosesFiles: a shard that is stopped in a level leaves no file open.
func TestStoppedShardClosesFiles(t *testing.T) {
	openIn := func(dir string) (files []string) {
		for _, entry := range must(os.ReadDir("/proc/self/fd")) {
			if path, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); err == nil && strings.HasPrefix(path, dir) {
				files = append(files, path)
			}
		}
		return files
	}
	sent := 0
	for shard := 1; shard <= 3; shard++ { // one of them has the initial state
		dir := t.TempDir()
		_, err := explore.ExploreWith(cube{6}, explore.Options[[3]byte]{Stopped: func() bool {
			for _, path := range openIn(dir) {
				sent += strings.Count(path, "-to-")
			}
			return true
		}}, explore.Resources{Dir: dir, Shard: explore.Shard{Index: shard, Of: 3}})
		if left := openIn(dir); err != nil || len(left) > 0 {
			t.Errorf("shard %d: %v, open: %v", shard, err, left)
		}
	}
	if sent != 2 {
		t.Errorf("%d files for other shards were open in the level", sent)
	}
}

// TestShards: what several processes find together is what one finds.
func TestShards(t *testing.T) {
	defer explore.SetBatch(100)()
	want := explore.Explore(cube{14}, explore.Options[[3]byte]{})
	for shards := 1; shards <= 3; shards++ {
		results, errs := together(t.TempDir(), cube{14}, shards, func(int) explore.Options[[3]byte] { return explore.Options[[3]byte]{} })
		checkErrors(t, errs)
		if d := cmp.Diff(want, merged(results)); d != "" {
			t.Errorf("%d shards: %s", shards, d)
		}
		for i, r := range results {
			if 2*shards*r.States < want.States {
				t.Errorf("shard %d of %d has %d states", i+1, shards, r.States)
			}
		}
	}
}

// TestShardsResume: shards whose processes end at different times go on, and find the same.
func TestShardsResume(t *testing.T) {
	defer explore.SetBatch(100)()
	want := explore.Explore(cube{14}, explore.Options[[3]byte]{})
	dir := t.TempDir()
	stops := 0
	for round := 1; ; round++ {
		results, errs := together(dir, cube{14}, 2, func(shard int) explore.Options[[3]byte] {
			asked := 0
			return explore.Options[[3]byte]{Stopped: func() bool { asked++; return asked >= 10*round+7*shard }}
		})
		checkErrors(t, errs)
		if results[0].Stopped || results[1].Stopped {
			stops++
			continue
		}
		if d := cmp.Diff(want, merged(results)); d != "" || stops < 2 {
			t.Errorf("after %d stops: %s", stops, d)
		}
		return
	}
}

// TestShardsViolation: a counterexample that goes through the states of several shards is a
// shortest one.
func TestShardsViolation(t *testing.T) {
	directories := 0
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 40, 90)
		_, distance := slowly(g)
		state, to := rapid.IntRange(0, 39).Draw(t, "state"), rapid.IntRange(0, 39).Draw(t, "to")
		o := explore.Options[int]{
			Workers:    1,
			Invariants: []explore.Invariant[int]{{Name: "State", Holds: func(s int) bool { return s != state }}},
			Steps:      []explore.StepProperty[int]{{Name: "Step", Holds: func(from, _, next int) bool { return next != to || from == next }}},
		}
		shortest := shortestFailure(g, distance, state, to)
		check := func(v *explore.Violation[int]) {
			if v == nil && shortest > 0 || v != nil && len(v.Trace) != shortest {
				t.Fatalf("%+v: the shortest counterexample has %d states", v, shortest)
			}
			if v != nil {
				checkTrace(t, g, v)
			}
		}
		check(explore.Explore(g, o).Violation)
		directories++
		results, errs := together(fmt.Sprint(base, "/", directories), g, 3, func(int) explore.Options[int] { return o })
		checkErrors(t, errs)
		found := slices.DeleteFunc(results, func(r explore.Result[int]) bool { return r.Violation == nil })
		if len(found) == 0 {
			check(nil)
		}
		for _, r := range found {
			check(r.Violation)
		}
	})
}

// shortestFailure is the number of states of a shortest path to a state, or by a step to
// another state; 0 if there is none.
func shortestFailure(g graph, distance map[int]int, state, to int) (length int) {
	shorter := func(l int) {
		if length == 0 || l < length {
			length = l
		}
	}
	for s, d := range distance {
		if s == state {
			shorter(d + 1)
		}
		for _, next := range g.steps[s] {
			if next.to == to && s != to {
				shorter(d + 2)
			}
		}
	}
	return length
}
