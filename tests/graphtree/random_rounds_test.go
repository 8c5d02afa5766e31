package graphtree

import "pgregory.net/rapid"

// Most programs do the same over and over, or one of a few things. Only then are
// recordings launched again, with now and then something held that was dropped before, or
// the other way round. So a random program has a few rounds, which it goes through
// again and again, not always quite in the same way.

// choice is how a program finds an input: among what it holds, or new.
type choice struct {
	held  bool
	which int  // of what is held and can be one
	give  bool // pass on the program's own hold, not a share
}

func drawChoice(t *rapid.T) choice {
	return choice{
		held:  rapid.IntRange(0, 3).Draw(t, "held") > 0,
		which: rapid.IntRange(0, 7).Draw(t, "which input"),
		give:  rapid.IntRange(0, 3).Draw(t, "give") == 0,
	}
}

// turn is a call, and which of its outputs are dropped after it.
type turn struct {
	function int
	inputs   [2]choice
	drops    [4]bool
}

func (p *program) drawRound(t *rapid.T) (round []turn) {
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		n := turn{function: rapid.IntRange(0, len(p.functions)-1).Draw(t, "function")}
		for i := range n.inputs {
			n.inputs[i] = drawChoice(t)
		}
		for i := range n.drops {
			n.drops[i] = rapid.Bool().Draw(t, "drop")
		}
		round = append(round, n)
	}
	return round
}

// round goes through one of the rounds, from a new step on.
func (p *program) round(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "keep") > 0 {
		p.dropAll(t)
	}
	p.step(t)
	for _, n := range rapid.SampledFrom(p.rounds).Draw(t, "round") {
		inputs := n.inputs
		if rapid.IntRange(0, 7).Draw(t, "give or not") == 0 {
			inputs[0].give = !inputs[0].give
		}
		outputs := p.callFunction(t, p.functions[n.function], inputs)
		other := rapid.IntRange(-8, len(n.drops)-1).Draw(t, "other than usual")
		for i, o := range outputs {
			if n.drops[i] != (i == other) {
				p.dropOutput(t, o)
			}
		}
		p.check(t)
	}
}
