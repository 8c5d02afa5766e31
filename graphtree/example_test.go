package graphtree_test

import (
	"fmt"
	"log"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/graphtree"
	"gaugeblock/spec"
)

// A function that doubles something is called three times: it warms up, is
// recorded, and is launched again.
func Example() {
	gpu := fakegpu.New(fakegpu.Config{})
	allocator := must(alloc.New(gpu, alloc.Options{}))
	manager := must(graphtree.New(gpu, allocator, graphtree.Options{
		Stream: must(gpu.CreateStream(0)),
		Pool:   spec.PoolID{User: 1},
	}))

	double := &graphtree.Function{
		Name: "double",
		Body: func(w *graphtree.Work, inputs []*graphtree.Tensor) ([]*graphtree.Tensor, error) {
			out, err := w.Malloc(4096)
			if err != nil {
				return nil, err
			}
			outputs := []*graphtree.Tensor{out}
			return outputs, w.Launch("double", inputs, outputs)
		},
	}
	for range 3 {
		outputs := must(manager.Call(double, must(manager.Malloc(4096))))
		s := manager.Status()
		fmt.Println(s.State, s.Path)
		if err := outputs[0].Release(); err != nil {
			log.Fatal(err)
		}
	}
	if err := manager.Shutdown(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("hazards:", len(gpu.Hazards()))
	// Output:
	// WARMUP [-1]
	// RECORDING [0]
	// EXECUTION [0]
	// hazards: 0
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
