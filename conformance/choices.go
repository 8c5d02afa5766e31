package conformance

import "math/rand/v2"

// Choices is where a generator gets its chance from.
type Choices interface {
	// Intn gives a number from 0 to n-1; n is at least 1.
	Intn(n int) int
}

// Seeded makes the choices that belong to a seed: always the same.
func Seeded(seed uint64) Choices { return seeded{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))} }

type seeded struct{ r *rand.Rand }

func (s seeded) Intn(n int) int { return s.r.IntN(n) }

// pick is one of the items, which must not be empty.
func pick[T any](c Choices, items []T) T { return items[c.Intn(len(items))] }

// chance is true once in n times.
func chance(c Choices, n int) bool { return c.Intn(n) == 0 }
