package abstract

import "testing"

// TestIsStep: IsStep says of each pair of reachable states whether Next has the step.
func TestIsStep(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		judgesAll(t, &Machine{Bytes: 2, Streams: 1, Sizes: []int{1, 2}, Room: 2, Work: 2, Names: 2})
	})
	t.Run("alignment", func(t *testing.T) {
		judgesAll(t, &Machine{Bytes: 3, Streams: 1, Sizes: []int{1}, Align: 2, Room: 3, Work: 1, Names: 2})
	})
	t.Run("streams", func(t *testing.T) {
		judgesAll(t, &Machine{Bytes: 1, Streams: 2, Sizes: []int{1}, Room: 1, Work: 1, Graphs: 1, Names: 2})
	})
}

func judgesAll(t *testing.T, m *Machine) {
	states := m.Initial()
	seen := map[string]bool{string(m.Key(nil, states[0])): true}
	next := map[int]map[string]bool{} // by the number of the state
	for i := 0; i < len(states); i++ {
		next[i] = map[string]bool{}
		m.Next(states[i], func(_ int, to State) {
			key := string(m.Key(nil, to))
			next[i][key] = true
			if !seen[key] {
				seen[key] = true
				states = append(states, to)
			}
		})
	}
	steps := 0
	for i, from := range states {
		for _, to := range states {
			is := m.IsStep(from, to)
			if is != next[i][string(m.Key(nil, to))] {
				t.Fatalf("from\n%s\nto\n%s\nIsStep is %v", m.Text(nil, from), m.Text(nil, to), is)
			}
			if is {
				steps++
			}
		}
	}
	t.Logf("%d states, %d steps", len(states), steps)
}
