package happensbefore_test

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// Stream B waits for an event that was recorded in A, between A's two pieces of work.
func Example() {
	order := happensbefore.New()
	a := order.NewLane(spec.DeviceStream{Stream: 1})
	b := order.NewLane(spec.DeviceStream{Stream: 2})

	first := order.Submit(a).Epoch
	var event happensbefore.Clock
	order.Record(&event, a)
	second := order.Submit(a).Epoch
	order.Wait(b, event)

	fmt.Println(order.Before(first, b), order.Before(second, b))
	order.See(a.Clock()) // the host waits for A
	fmt.Println(order.Before(first, b), order.Before(second, b))
	// Output:
	// true false
	// true true
}

// A capture has an order of its own, with a lane for each of its streams. The stream
// that began it comes after all of its work when its clock covers that of each lane.
func Example_capture() {
	capture := happensbefore.New()
	origin := capture.NewGraphLane(spec.DeviceStream{Stream: 1})
	joined := capture.NewGraphLane(spec.DeviceStream{Stream: 2})

	var fork, join happensbefore.Clock
	root := capture.Submit(origin).Epoch
	capture.Record(&fork, origin)
	capture.Wait(joined, fork)
	node := capture.Submit(joined)
	fmt.Println("the second node depends on the first:", node.Clock.Covers(root))
	fmt.Println("joined:", origin.Clock().CoversAll(joined.Clock()))
	capture.Record(&join, joined)
	capture.Wait(origin, join)
	fmt.Println("joined:", origin.Clock().CoversAll(joined.Clock()))
	// Output:
	// the second node depends on the first: true
	// joined: false
	// joined: true
}
