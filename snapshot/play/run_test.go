package play

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// TestStreamsOfUses: a use that ends no earlier than the last one of a stream is in that stream.
func TestStreamsOfUses(t *testing.T) {
	r := &runner{}
	for _, step := range []struct {
		deadline int32
		want     int
	}{{5, 0}, {7, 0}, {6, 1}, {7, 0}, {6, 1}, {2, 2}, {9, 0}, {8, 1}} {
		if got := r.useStream(step.deadline); got != spec.Stream(firstUseStream+step.want) {
			t.Errorf("the use until %d is in stream %d, not %d", step.deadline, got-firstUseStream, step.want)
		}
	}
}

// TestDeletePoolFails: that a pool cannot be released is an error of the run.
func TestDeletePoolFails(t *testing.T) {
	a, err := alloc.New(newDriver(fakegpu.RealLike(0)), alloc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{alloc: a}
	op := &history.PoolOperation{Op: trace.Op{Pool: spec.PoolID{User: 1}}}
	if err := a.CreatePool(0, op.Pool, spec.PoolOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.deletePool(op); err != nil {
		t.Error(err)
	}
	if err := r.deletePool(op); err == nil {
		t.Error("a pool is deleted twice")
	}
}

// TestAllow: a memory fraction is in force to the byte, by the rules of each release.
func TestAllow(t *testing.T) {
	const segment = 20 << 20
	for _, release := range upstream.Releases() {
		for _, limit := range []uint64{segment, segment - 1} {
			a, err := alloc.New(newDriver(fakegpu.RealLike(0)), alloc.Options{Rules: release.Rules})
			if err != nil {
				t.Fatal(err)
			}
			if err := (&runner{alloc: a}).allow(limit); err != nil {
				t.Fatal(err)
			}
			_, err = a.Malloc(spec.Request{Bytes: segment})
			if fits := limit == segment; fits != (err == nil) {
				t.Errorf("%s: %d bytes are allowed: %v", release.Name, limit, err)
			}
		}
	}
}
