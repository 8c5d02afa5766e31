package points

import "testing"

// inRun runs steps, each in a thread of its own number, and returns the race.
func inRun(t *testing.T, steps ...func(r *Run)) *Race {
	t.Helper()
	r := Begin(2)
	defer r.End()
	r.Fork()
	for i, step := range steps {
		r.Resume(i % 2)
		step(r)
	}
	return r.Race()
}

// TestRaces: two accesses of which one writes are a race unless a mutex, an atomic or the program
// orders them.
func TestRaces(t *testing.T) {
	var x struct{ a, b uint64 }
	var m Mutex
	var rw RWMutex
	var flag Bool
	write := func(*Run) { *W(&x.a, "write") = 1 }
	read := func(*Run) { _ = *R(&x, "read") }
	locked := func(do func(*Run)) func(*Run) {
		return func(r *Run) { m.LockAt("lock"); do(r); m.UnlockAt("unlock") }
	}
	names := map[string]int{}
	for name, test := range map[string]struct {
		steps []func(*Run)
		races bool
	}{
		"two writes":          {[]func(*Run){write, write}, true},
		"read, then write":    {[]func(*Run){read, write}, true},
		"write, then read":    {[]func(*Run){write, read}, true},
		"two reads":           {[]func(*Run){read, read}, false},
		"of another field":    {[]func(*Run){write, func(*Run) { *W(&x.b, "other") = 1 }}, false},
		"a mutex":             {[]func(*Run){locked(write), locked(read)}, false},
		"one without a mutex": {[]func(*Run){locked(write), read}, true},
		"readers, then a writer": {[]func(*Run){
			func(r *Run) { rw.RLockAt(""); read(r); rw.RUnlockAt("") },
			func(r *Run) { rw.LockAt(""); write(r); rw.UnlockAt("") },
		}, false},
		"a writer among readers": {[]func(*Run){
			func(r *Run) { rw.RLockAt(""); read(r); rw.RUnlockAt("") },
			func(r *Run) { rw.RLockAt(""); write(r); rw.RUnlockAt("") },
		}, true},
		"an atomic": {[]func(*Run){
			func(r *Run) { write(r); flag.StoreAt("", true) },
			func(r *Run) { flag.LoadAt(""); read(r) },
		}, false},
		"a later write than the atomic's": {[]func(*Run){
			func(r *Run) { flag.StoreAt("", true); write(r) },
			func(r *Run) { flag.LoadAt(""); read(r) },
		}, true},
		"a map": {[]func(*Run){
			func(*Run) { MapW(names, "write")["a"] = 1 },
			func(*Run) { _ = MapR(names, "read")["b"] },
		}, true},
	} {
		m, rw, flag = Mutex{}, RWMutex{}, Bool{}
		if race := inRun(t, test.steps...); (race != nil) != test.races {
			t.Errorf("%s: %v", name, race)
		}
	}
}

// TestMutexWaits: who needs a mutex that another thread holds is not ready until it is released.
func TestMutexWaits(t *testing.T) {
	r := Begin(2)
	defer r.End()
	r.Fork()
	var m Mutex
	r.Resume(0)
	m.LockAt("first")
	paused := 0
	r.Pause = func(kind Kind, site string) {
		if paused++; paused == 2 { // the point before Lock comes first
			if r.Ready(1) {
				t.Error("a thread is ready that waits for a mutex")
			}
			r.Resume(0)
			m.UnlockAt("first")
			if !r.Ready(1) {
				t.Error("a thread is not ready although the mutex is free")
			}
			r.Resume(1)
		}
	}
	r.Resume(1)
	m.LockAt("second")
	if paused < 3 || !m.held {
		t.Errorf("%d pauses, held %v", paused, m.held)
	}
}

// TestDeadlock: the main thread does not wait for ever.
func TestDeadlock(t *testing.T) {
	r := Begin(1)
	defer r.End()
	var m Mutex
	m.LockAt("first")
	defer func() {
		if d, is := recover().(Deadlock); !is || d.Site != "second" {
			t.Errorf("it panics with %v", d)
		}
	}()
	m.LockAt("second")
}

// TestSpins: a thread that lets others run is not ready until one has changed something, unless
// there is nobody else.
func TestSpins(t *testing.T) {
	r := Begin(2)
	defer r.End()
	r.Fork()
	var flag Bool
	r.Pause = func(kind Kind, _ string) {
		if kind != Spin {
			return
		}
		if r.Ready(0) || !r.Spins(0) {
			t.Error("a thread is ready that lets others run")
		}
		r.Resume(1)
		flag.StoreAt("", true)
		r.Resume(0)
		if !r.Ready(0) {
			t.Error("it is not ready after a change")
		}
	}
	r.Resume(0)
	Gosched("here")
}
