package edges

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/model/explore"
)

// TestWalksAreAsBefore: the walks through graphs that are drawn are as they were, where none ends early, and where some
// edges end them always or sometimes; and so is why edges are not taken.
func TestWalksAreAsBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 36))
	var told strings.Builder
	for number := range 60 {
		g := make(graph, 3+r.IntN(40))
		if number == 9 || number == 20 { // more than are searched for the next edge
			g = make(graph, 350)
		}
		for i := range g {
			for range 1 + r.IntN(4) {
				g[i] = append(g[i], r.IntN(len(g)+1)-1)
			}
		}
		explored := explore.Explore(g, explore.Options[int]{Edges: true, Workers: 1})
		final := make([]bool, len(g.Labels()))
		final[3] = number%3 == 0
		p := NewPlanner(explored.Graph, final)
		var steps strings.Builder
		walks := 0
		for walk := p.Walk(5); len(walk) > 0 || p.Retry(); walk = p.Walk(5) {
			if walks++; walks > 20_000 {
				t.Fatalf("graph %d: there is no end of it", number)
			}
			if len(walk) == 0 {
				continue
			}
			performed := len(walk)
			if number%2 > 0 {
				for i, step := range walk {
					if n := step.From*31 + int(step.Label)*7 + number; n%11 == 0 || n%5 == 0 && r.IntN(3) == 0 {
						performed = i + 1
						break
					}
				}
			}
			fmt.Fprintln(&steps, walk, performed)
			if performed < len(walk) {
				p.Passed(walk, performed-1)
				p.Resume(walk, performed, fmt.Sprintf("label %d", walk[performed-1].Label))
			} else {
				p.Passed(walk, performed)
			}
		}
		fmt.Fprintf(&told, "%d: %d walks, %d of %d edges, patience %d, %s, not taken %v\n", number, walks, p.Taken, p.Edges, p.Patience, kept.Sum(steps.String()), p.Unreached())
	}
	kept.Compare(t, filepath.Join("testdata", "walks"), told.String())
}
