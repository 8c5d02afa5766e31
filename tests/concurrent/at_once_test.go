package concurrent

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// longestWait is for how long all goroutines may wait.
var longestWait = 10 * time.Second

// atOnce calls a function on all goroutines. Each of these says when a call has come back. If none comes
// back for long they wait for a lock that nobody gives back, and the process ends with their stacks.
func atOnce(do func(i int, back func())) {
	came := make([]atomic.Int64, goroutines) // one each: what they share would put them in an order
	var together sync.WaitGroup
	for i := range goroutines {
		together.Go(func() { do(i, func() { came[i].Add(1) }) })
	}
	done := make(chan bool)
	var watch sync.WaitGroup
	watch.Go(func() {
		for last := int64(-1); ; {
			sum := int64(0)
			for i := range came {
				sum += came[i].Load()
			}
			if sum == last {
				debug.SetTraceback("all")
				panic("no call comes back")
			}
			last = sum
			select {
			case <-done:
				return
			case <-time.After(longestWait):
			}
		}
	})
	together.Wait()
	close(done)
	watch.Wait()
}

// waitingDriver never comes back from a malloc, so that the device's lock is never given back.
type waitingDriver struct{ *fakegpu.GPU }

func (waitingDriver) Malloc(spec.Device, uint64) (spec.Ptr, error) { select {} }

// TestLostTurn: where a lock is not given back, the tests end, and say where everybody waits.
func TestLostTurn(t *testing.T) {
	const inside = "GAUGEBLOCK_LOSES_A_TURN"
	if os.Getenv(inside) != "" {
		longestWait = time.Second
		a, err := alloc.New(waitingDriver{fakegpu.New(fakegpu.Config{})}, alloc.Options{})
		if err != nil {
			t.Fatal(err)
		}
		atOnce(func(int, func()) { _, _ = a.Malloc(spec.Request{Bytes: 1}) })
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^TestLostTurn$")
	command.Env = append(os.Environ(), inside+"=1")
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no call comes back") || !strings.Contains(string(out), "lockInTurn") {
		t.Errorf("%v\n%s", err, out)
	}
}
