package alloc

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestEventQueues does the same to eventQueues and to a list of events, each with its stream.
func TestEventQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type recorded struct {
			Stream spec.Stream
			Event  spec.EventHandle
		}
		var queues eventQueues
		var want []recorded // in the order of recording
		next := spec.EventHandle(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "run") {
					next++
					e := recorded{spec.Stream(rapid.IntRange(0, 3).Draw(t, "stream")), next}
					queues.push(spec.DeviceStream{Stream: e.Stream}, outstandingEvent{event: e.Event})
					want = append(want, e)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "run") {
					if len(queues) == 0 {
						return
					}
					q := &queues[rapid.IntRange(0, len(queues)-1).Draw(t, "queue")]
					e := q.pop(rapid.IntRange(0, len(q.outstanding())-1).Draw(t, "at"))
					at := slices.Index(want, recorded{q.stream.Stream, e.event})
					if at < 0 {
						t.Fatalf("event %d is taken out of stream %v, where it is not", e.event, q.stream.Stream)
					}
					want = slices.Delete(want, at, at+1)
					queues.dropEmpty()
				}
			},
			"": func(t *rapid.T) {
				var got []recorded
				for _, q := range queues {
					if len(q.outstanding()) == 0 {
						t.Fatal("a queue is empty")
					}
					for _, e := range q.outstanding() {
						got = append(got, recorded{q.stream.Stream, e.event})
					}
				}
				sorted := slices.Clone(want)
				slices.SortStableFunc(sorted, func(a, b recorded) int { return int(a.Stream) - int(b.Stream) })
				if diff := cmp.Diff(sorted, got); len(got)+len(sorted) > 0 && diff != "" {
					t.Fatalf("-list +queues:\n%s", diff)
				}
			},
		})
	})
}

// TestEventQueueStaysSmall: the space of events that are not outstanding any more is used again.
func TestEventQueueStaysSmall(t *testing.T) {
	var queues eventQueues
	for n := range 10_000 {
		queues.push(spec.DeviceStream{}, outstandingEvent{})
		if n >= 10 {
			queues[0].pop(0)
		}
	}
	if n := cap(queues[0].events); n > 64 {
		t.Errorf("10 events are outstanding, and there is space for %d", n)
	}
}
