package torch

import (
	"syscall"
	"testing"
	"time"
)

// TestHang: a worker that does not come to the end of an operation is ended, and another one
// works on.
func TestHang(t *testing.T) {
	w, err := startWorker(built(t))
	must(t, err)
	w.patience = 500 * time.Millisecond
	j := &job{Area: "core", Seed: 1, Programs: 1_000_000, Conditions: Conditions{Length: 100, Every: 10}}
	stopped := w.process.Process
	go func() {
		for w.place.get().operation == 0 {
			time.Sleep(time.Millisecond)
		}
		_ = stopped.Signal(syscall.SIGSTOP)
	}()
	_, crash, err := w.do(j)
	must(t, err)
	if crash == nil || !crash.Hangs || crash.difference().What != "hang" {
		t.Fatalf("a worker that is stopped: %v", crash)
	}
	w.patience = patience
	j.Programs = 2
	r, crash, err := w.do(j)
	must(t, err)
	if crash != nil || r.Operations < 100 {
		t.Errorf("the next worker: %v, %d operations", crash, r.Operations)
	}
	if err := w.stop(); err != nil {
		t.Fatalf("%v: %s", err, w.said.String())
	}
}
