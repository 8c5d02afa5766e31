package fakegpu_test

import (
	"math/rand/v2"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestDetectorDoesNotGrow runs long programs, millions of calls together, and wants
// what the detector remembers to stay small: bounded by the memory in use and the
// streams at work, not by what has happened.
func TestDetectorDoesNotGrow(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 5_000
	}
	// Ranges begin and end at halves of parts. Of each half, two writes and two reads
	// may have to be remembered for each stream, in different lifetimes.
	const halves, each = 2 * soakParts, 4
	for _, test := range []struct {
		name            string
		accesses, lanes int // that may be remembered
		round           func(s *soak, i int)
	}{
		{"one stream", halves * each, 1, func(s *soak, _ int) { s.use(s.streams[0]) }},
		{"many streams", halves * each * 4, 4, func(s *soak, _ int) { s.use(s.anyStream()) }},
		{"graphs", halves * each * 4, 4, func(s *soak, _ int) { s.launch(); s.use(s.anyStream()) }},
		{"events", halves * each * 4, 4, func(s *soak, _ int) { s.relay(); s.use(s.anyStream()) }},
		{"streams that come and go", halves * 4 * each, 110, func(s *soak, i int) {
			s.replaceStream()
			s.use(s.anyStream())
			if i%100 == 0 {
				s.must(s.gpu.SynchronizeDevice(0))
			}
		}},
		{"streams that follow each other", halves * each, 800, func(s *soak, _ int) {
			s.succeedStream()
			s.use(s.streams[0])
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSoak(t)
			for i := range rounds {
				s.giveAnew(1 + s.random.IntN(soakParts-1)) // part 0 is the graph's
				test.round(s, i)
				if i%100 != 0 {
					continue
				}
				if patches, accesses, lanes := s.gpu.DetectorSize(); patches > halves || accesses > test.accesses || lanes > test.lanes {
					t.Fatalf("after %d rounds: %d patches, %d accesses, %d lanes", i, patches, accesses, lanes)
				}
			}
			s.must(s.gpu.SynchronizeDevice(0))
			for range 1000 { // in which there is a sweep
				s.touch(s.streams[0], 0)
			}
			if patches, accesses, _ := s.gpu.DetectorSize(); patches > 2 || accesses > 2*each {
				t.Errorf("all but one part's use is over, but %d patches and %d accesses are remembered", patches, accesses)
			}
		})
	}
}

const soakParts, soakPart = 64, 512

type soak struct {
	t       *testing.T
	gpu     *fakegpu.GPU
	memory  spec.Ptr
	streams []spec.Stream
	event   spec.EventHandle
	exec    spec.GraphExec
	random  *rand.Rand
}

func newSoak(t *testing.T) *soak {
	s := &soak{t: t, gpu: fakegpu.New(fakegpu.Config{}), random: rand.New(rand.NewPCG(1, 2))}
	var err error
	s.memory, err = s.gpu.Malloc(0, soakParts*soakPart)
	s.must(err)
	for range 4 {
		handle, err := s.gpu.CreateStream(0)
		s.must(err)
		s.streams = append(s.streams, handle)
	}
	s.event, err = s.gpu.CreateEvent(0)
	s.must(err)
	for part := range soakParts {
		s.gpu.BeginLifetime(fakegpu.Lifetime{Range: s.part(part)})
	}
	s.capture()
	return s
}

func (s *soak) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *soak) part(i int) spec.Range {
	return spec.Range{Ptr: s.memory + spec.Ptr(i*soakPart), Bytes: soakPart}
}

func (s *soak) anyStream() spec.Stream { return s.streams[s.random.IntN(len(s.streams))] }

func (s *soak) giveAnew(part int) {
	s.gpu.EndLifetime(s.part(part).Ptr)
	s.gpu.BeginLifetime(fakegpu.Lifetime{Range: s.part(part)})
}

func (s *soak) use(stream spec.Stream) { s.touch(stream, s.random.IntN(soakParts)) }

func (s *soak) touch(stream spec.Stream, part int) {
	l := spec.Launch{Stream: stream, Writes: []spec.Range{s.part(part)}}
	half := l.Writes[0]
	half.Bytes /= 2
	if s.random.IntN(2) == 0 {
		l.Reads, l.Writes = []spec.Range{half}, nil
	}
	s.must(s.gpu.Launch(l))
}

func (s *soak) replaceStream() {
	i := s.random.IntN(len(s.streams))
	s.must(s.gpu.DestroyStream(0, s.streams[i]))
	var err error
	s.streams[i], err = s.gpu.CreateStream(0)
	s.must(err)
}

// succeedStream replaces a stream by one that waits for it. The host waits for neither.
func (s *soak) succeedStream() {
	s.must(s.gpu.RecordEvent(s.event, 0, s.streams[0]))
	s.must(s.gpu.DestroyStream(0, s.streams[0]))
	var err error
	s.streams[0], err = s.gpu.CreateStream(0)
	s.must(err)
	s.must(s.gpu.WaitEvent(0, s.streams[0], s.event))
}

// relay makes one stream wait for another.
func (s *soak) relay() {
	s.must(s.gpu.RecordEvent(s.event, 0, s.anyStream()))
	s.must(s.gpu.WaitEvent(0, s.anyStream(), s.event))
}

// capture makes a graph of two nodes on two streams.
func (s *soak) capture() {
	s.must(s.gpu.BeginCapture(0, s.streams[0], spec.CaptureRelaxed))
	s.must(s.gpu.RecordEvent(s.event, 0, s.streams[0]))
	s.must(s.gpu.WaitEvent(0, s.streams[1], s.event))
	s.touch(s.streams[0], 0)
	s.touch(s.streams[1], 0)
	s.must(s.gpu.RecordEvent(s.event, 0, s.streams[1]))
	s.must(s.gpu.WaitEvent(0, s.streams[0], s.event))
	graph, err := s.gpu.EndCapture(0, s.streams[0])
	s.must(err)
	s.exec, err = s.gpu.Instantiate(graph)
	s.must(err)
}

func (s *soak) launch() { s.must(s.gpu.LaunchGraph(s.exec, 0, s.anyStream())) }
