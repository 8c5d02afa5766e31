// Package sample has what sources can have.
package sample

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

type driver interface{ Ask(int) (int, error) }

type pair struct{ a, b int }

type box[T any] struct{ values []T }

func (b *box[T]) add(v T) { b.values = append(b.values, v) }

type shared struct {
	mu     sync.Mutex
	rw     sync.RWMutex
	flag   atomic.Bool
	latest atomic.Pointer[pair]
	count  atomic.Int64

	driver driver
	notify func(int)
	names  map[string]pair
	pairs  [2]pair
	list   []pair
	box    box[int]
}

// Do does a bit of everything.
func (s *shared) Do(name string, unused int) (sum int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.flag.CompareAndSwap(false, true) {
		runtime.Gosched()
	}
	s.pairs[1].a++
	s.pairs[0], s.list = pair{1, 2}, append(s.list, pair{a: len(s.names)})
	s.names[name] = s.pairs[0]
	delete(s.names, name)
	for _, p := range s.list {
		sum += p.a
	}
	own := func(n int) int { return n }
	sum += own(s.names[name].b)
	s.box.add(sum)
	local := s.pairs
	local[0].a = 5
	if s.notify != nil {
		s.notify(local[0].a)
	}
	s.latest.Store(&s.list[0])
	s.list = slices.DeleteFunc(s.list, func(p pair) bool { return p.b == 1 })
	n, err := s.driver.Ask(sum)
	if errors.Is(err, errors.ErrUnsupported) {
		return 0, nil
	}
	return n + int(s.count.Add(1)), err
}

// Read reads under the other mutex.
func (s *shared) Read() *pair {
	s.rw.RLock()
	defer s.rw.RUnlock()
	return s.latest.Load()
}

// New is there so that all of it is used.
func New(d driver) *shared { return &shared{driver: d, names: map[string]pair{}} }
