package invariant_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// Everything that an allocator says about blocks in use, segments and figures is
// tied to something else that it says: no single number can be wrong without an
// invariant to notice. What is not tied is listed here.

// notice reports whether an observation of the changed scene breaks anything.
func notice(t *testing.T, s *scene, from invariant.Sources) bool {
	t.Helper()
	violations, err := invariant.CheckAll(s.observe(from))
	if err != nil {
		t.Fatal(err)
	}
	return len(violations) > 0
}

// deltas are added to a number; 512 keeps sizes aligned.
var deltas = []uint64{1, ^uint64(0), 512, ^uint64(511)}

// eachChange changes one number or flag of a struct at a time, and undoes it.
func eachChange(p any, changed func(field, how string)) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		switch field.Kind() {
		case reflect.Uint64:
			old := field.Uint()
			for _, delta := range deltas {
				field.SetUint(old + delta)
				changed(name, fmt.Sprintf("%+d", int64(delta)))
			}
			field.SetUint(old)
		case reflect.Int:
			old := field.Int()
			field.SetInt(old + 1)
			changed(name, "+1")
			field.SetInt(old)
		case reflect.Uint8:
			old := field.Uint()
			for state := range uint64(3) {
				if state != old {
					field.SetUint(state)
					changed(name, spec.BlockState(state).String())
				}
			}
			field.SetUint(old)
		case reflect.Bool:
			old := field.Bool()
			field.SetBool(!old)
			changed(name, fmt.Sprint(!old))
			field.SetBool(old)
		}
	}
}

func TestEveryNumberOfASnapshotMatters(t *testing.T) {
	s := goodScene()
	for i := range s.snapshot.Segments {
		g := &s.snapshot.Segments[i]
		eachChange(g, func(field, how string) {
			switch {
			case field == "Device", // see TestDevices
				field == "Stream" && g.AllocatedSize == 0: // nobody has asked for it
				return
			}
			if !notice(t, s, everything&^invariant.FromInspector) {
				t.Errorf("segment %v: %s %s is not noticed", g.Address, field, how)
			}
		})
		for j := range g.Blocks {
			b := &g.Blocks[j]
			eachChange(b, func(field, how string) {
				if b.State == spec.Inactive && field == "RequestedSize" {
					return // stale
				}
				if !notice(t, s, everything&^invariant.FromInspector) {
					t.Errorf("block %v: %s %s is not noticed", b.Address, field, how)
				}
			})
		}
	}
}

func TestEveryNumberOfAnInspectorMatters(t *testing.T) {
	s := goodScene()
	for i := range s.views.blocks {
		b := &s.views.blocks[i]
		eachChange(b, func(field, how string) {
			switch {
			case field == "Age", field == "Order", // see TestOrderOfOneSize
				field == "StreamUses" && b.State() != spec.Inactive,            // how many there are is the program's doing
				field == "RequestedSize" && b.State() == spec.Inactive,         // stale
				(field == "Address" || field == "Stream") && i == unsplitBlock: // it has neither neighbours nor a list
				return
			}
			if !notice(t, s, invariant.FromInspector|invariant.FromStats) {
				t.Errorf("block %v: %s %s is not noticed", b.Address, field, how)
			}
		})
	}
	for _, list := range [][]spec.BlockView{s.views.free, s.views.unmapped} {
		for i := range list {
			b := &list[i]
			old := *b
			for _, change := range []func(){
				func() { b.Address += 512 }, func() { b.Size += 512 }, func() { b.Stream++ },
				func() { b.Pool.User++ }, func() { b.Pool.Capture++ }, func() { b.PoolKind ^= 1 },
			} {
				change()
				if !notice(t, s, invariant.FromInspector) {
					t.Errorf("entry %+v is not noticed", *b)
				}
				*b = old
			}
		}
	}
}

// TestOrderOfOneSize: free blocks of one size are in the order of Order, then of their addresses.
func TestOrderOfOneSize(t *testing.T) {
	s := goodScene()
	last := s.views.free[len(s.views.free)-1]
	twin := last
	twin.Address += spec.Ptr(last.Size)
	s.views.free = append(s.views.free, twin)
	isOutOfOrder := func() bool {
		violations, err := invariant.CheckAll(s.observe(invariant.FromInspector))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(fmt.Sprint(violations), "out of order")
	}
	for _, test := range []struct {
		first, second uint64
		want          bool
	}{{0, 0, false}, {1, 2, false}, {2, 1, true}} {
		n := len(s.views.free)
		s.views.free[n-2].Order, s.views.free[n-1].Order = test.first, test.second
		if got := isOutOfOrder(); got != test.want {
			t.Errorf("order %d before %d: out of order %v, want %v", test.first, test.second, got, test.want)
		}
	}
}

func TestEveryFigureMatters(t *testing.T) {
	s := goodScene()
	figures := reflect.ValueOf(&s.stats).Elem()
	for i := range figures.NumField() {
		array, ok := figures.Field(i).Addr().Interface().(*spec.StatArray)
		if !ok {
			continue // oversize figures and counters are nearly free
		}
		name := figures.Type().Field(i).Name
		for kind := range spec.NumStatTypes {
			stat := &array[kind]
			old := *stat
			for field, change := range map[string]func(){
				"current+1":   func() { stat.Current++ },
				"current-1":   func() { stat.Current-- },
				"peak-4":      func() { stat.Peak -= 5 },
				"allocated+1": func() { stat.Allocated++ },
				"freed+1":     func() { stat.Freed++ },
			} {
				change()
				if !notice(t, s, invariant.FromStats|invariant.FromSnapshot|invariant.FromHistory) {
					t.Errorf("%s.%v.%s is not noticed", name, kind, field)
				}
				*stat = old
			}
		}
	}
}
