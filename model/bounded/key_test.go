package bounded_test

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gaugeblock/internal/allrows"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/internal/race"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
	"gaugeblock/tla"
)

// sameStates are small configurations that have the states of another one, or of its kind.
var sameStates = []string{"core_oom", "core_live", "limit", "rounding", "two_step_live"}

// smallModules are the modules of the other small configurations in which no violation is
// expected, by their names.
func smallModules(t *testing.T) map[string]bounded.Module {
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]bounded.Module{}
	for _, c := range list {
		if c.Mirror == "" || c.Size != "small" || c.Expect != "ok" || slices.Contains(sameStates, c.Name) {
			continue
		}
		cfg, err := c.Config()
		if err != nil {
			t.Fatal(err)
		}
		check, err := bounded.NewCheck(c.Mirror, cfg)
		if err != nil {
			t.Fatal(err)
		}
		modules[c.Name] = check.Module
	}
	return modules
}

// steps are the labels of the steps of a state, each with the key that it leads to.
func steps(m bounded.Module, s *bounded.State) (list []string) {
	m.Next(s, func(label int, next *bounded.State) {
		list = append(list, fmt.Sprintf("%d %x", label, m.Key(nil, next)))
	})
	return list
}

// TestDecoder: every reachable state can be made again from its key. It has the same key,
// the same text, and the same steps.
func TestDecoder(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	modules := smallModules(t)
	for i, name := range slices.Sorted(maps.Keys(modules)) {
		if allrows.Without(i, 6) {
			continue
		}
		m := modules[name]
		t.Run(name, func(t *testing.T) {
			decode := m.Decoder()
			everyState(m, func(s *bounded.State) {
				key := m.Key(nil, s)
				again := decode(key)
				if k := m.Key(nil, again); !bytes.Equal(k, key) {
					t.Fatalf("the key was %x and is %x", key, k)
				}
				if text := m.Text(nil, s); !bytes.Equal(text, m.Text(nil, again)) {
					t.Fatalf("the state was\n%s\nand is\n%s", text, m.Text(nil, again))
				}
				if is := steps(m, again); !slices.Equal(is, steps(m, s)) {
					t.Fatalf("the steps were\n%v\nand are\n%v", steps(m, s), is)
				}
			})
		})
	}
}

// A use says what a key has of a field.
type use string

const (
	inKey    use = "in the key"                          // in some state another value has another key
	noEffect use = "no effect"                           // no other value has another key
	follows  use = "follows from other fields"           // a decoded state has the same value
	constant use = "that of the initial state"           // in all states
	setting  use = "in the key of module settings"       // in other modules that of the initial state
	asked    use = "in the key of module capture_faults" // in other modules true
	zero     use = "zero"                                // in all states
	aged     use = "in the key of module garbage"        // in other modules no effect
	ruled    use = "in the key if a rule asks for it"    // in other modules zero
)

// uses has every field of a State. TestKey tests what it says.
var uses = map[string]use{
	"Device": constant, "Geometry": constant, "Memory": constant, "Config": constant, "Config.MaxSplitSize": setting, "Config.Last": noEffect,
	"Rules": constant, "Marked": ruled, "Current": zero, "Segments.Made": ruled, "Segments.Blocks.Made": ruled,
	"Checkpoints.Mapped": ruled, "Checkpoints.Mapped.Segment": ruled, "Checkpoints.Mapped.Bytes": ruled,
	"Limited": constant, "Limit": constant, "FreeMemoryCallbacks": constant,

	"Segments": inKey, "Segments.Address": inKey, "Segments.Size": follows, "Segments.Stream": inKey,
	"Segments.Pool.Capture": inKey, "Segments.Pool.User": zero, "Segments.PoolKind": inKey,
	"Segments.Expandable": inKey, "Segments.Page": follows,

	"Segments.Blocks": inKey, "Segments.Blocks.Address": follows, "Segments.Blocks.Size": inKey,
	"Segments.Blocks.RequestedSize": inKey, "Segments.Blocks.State": inKey, "Segments.Blocks.Unmapped": inKey,
	"Segments.Blocks.StreamUses": inKey, "Segments.Blocks.StreamUses.Stream": inKey,
	"Segments.Blocks.StreamUses.Device": zero, "Segments.Blocks.GCCountBase": aged,

	"Events": inKey, "Events.Stream.Stream": inKey, "Events.Stream.Device": zero, "Events.After": inKey, "Events.Block": inKey,

	"Streams": inKey, "Streams.ID.Stream": inKey, "Streams.ID.Device": zero, "Streams.Completed": inKey,
	"Streams.Work": inKey, "Streams.Work.Ptr": inKey, "Streams.Work.Bytes": inKey,

	"PendingMallocs": inKey, "PendingMallocs.ID": inKey, "PendingMallocs.Stream": inKey, "PendingMallocs.RequestedSize": inKey,
	"PendingMallocs.stage": inKey, "PendingMallocs.pool.Capture": inKey, "PendingMallocs.pool.User": zero,
	"PendingMallocs.notExpandable": zero, "PendingMallocs.size": follows, "PendingMallocs.segmentSize": follows,
	"PendingMallocs.attempt": inKey, "PendingMallocs.releasesLock": follows, "PendingMallocs.driverCalls": noEffect,
	"PendingMallocs.granted": inKey, "PendingMallocs.ptr": zero, "PendingMallocs.err": zero,

	"Pools": inKey, "Pools.ID.Capture": inKey, "Pools.ID.User": zero, "Pools.UseCount": inKey,
	"Pools.UseOnOOM": inKey, "Pools.NoSplit": inKey, "Pools.DriverSegments": inKey, "Pools.Captured": asked,

	"Routings": inKey, "Routings.Pool.Capture": inKey, "Routings.Pool.User": zero, "Routings.Stream": inKey, "Routings.All": inKey, "Routings.Uncaptured": inKey,

	"GraphStreamUses": inKey, "GraphStreamUses.Block": inKey, "GraphStreamUses.Stream.Stream": inKey,
	"GraphStreamUses.Stream.Device": zero,

	"Checkpoints": inKey, "Checkpoints.Pool.Capture": inKey, "Checkpoints.Pool.User": zero,
	"Checkpoints.Blocks": inKey, "Checkpoints.Blocks.Memory.Ptr": inKey, "Checkpoints.Blocks.Memory.Bytes": inKey,
	"Checkpoints.Blocks.Allocated": inKey,

	"GetFreeBlocksCallCount": aged, "Counters": noEffect,

	"Truth.Held": inKey, "Truth.Held.Ptr": inKey, "Truth.Held.Bytes": inKey, "Truth.Held.Stream": inKey,
	"Truth.Held.Pool.Capture": inKey, "Truth.Held.Pool.User": zero,
	"Truth.Touches": inKey, "Truth.Touches.Ptr": inKey, "Truth.Touches.Stream.Stream": inKey,
	"Truth.Touches.Stream.Device": zero, "Truth.Touches.Captured": inKey,
	"Truth.Captures": inKey, "Truth.Captures.Pool.Capture": inKey, "Truth.Captures.Pool.User": zero,
	"Truth.Captures.Stream": inKey, "Truth.Captures.All": inKey, "Truth.Captures.Uncaptured": inKey,
	"Truth.Granted": inKey, "Truth.Granted.Memory.Ptr": inKey, "Truth.Granted.Memory.Bytes": inKey, "Truth.Granted.Stream": inKey,
	"Truth.Illegal": ruled, "RelaxedCaptures": constant, "FreeWaits": constant,
	"logsCalls": zero, "calls.Made": zero, "calls.Refused": zero,
}

// useOf is the use of a field, which may be that of a field that it is a part of.
func useOf(path string) (is use, listed bool) {
	if is, listed = uses[path]; listed {
		return is, true
	}
	for at := strings.LastIndexByte(path, '.'); at >= 0; at = strings.LastIndexByte(path[:at], '.') {
		if is := uses[path[:at]]; is == constant || is == noEffect || is == aged {
			return is, true
		}
	}
	return "", false
}

// fieldsOf visits the fields in a value: those that are no structs, and slices before their
// elements.
func fieldsOf(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			f := v.Field(i)
			fieldsOf(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem(), name, visit)
		}
	case reflect.Pointer:
		visit(path, v)
	case reflect.Array:
		for i := range v.Len() {
			fieldsOf(v.Index(i), path, visit)
		}
	case reflect.Slice:
		visit(path, v)
		for i := range v.Len() {
			fieldsOf(v.Index(i), path, visit)
		}
	default:
		visit(path, v)
	}
}

// another is another value of a field: of a slice, one without its last element.
func another(v reflect.Value) (other reflect.Value, exists bool) {
	other = reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Bool:
		other.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		other.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		other.SetUint(v.Uint() + 1)
	case reflect.String:
		other.SetString(v.String() + "?")
	case reflect.Slice:
		if v.Len() == 0 {
			return other, false
		}
		other.Set(v.Slice(0, v.Len()-1))
	default:
		panic(fmt.Sprintf("no other value of a %s", v.Type()))
	}
	return other, true
}

// keyCheck tests what the uses say of the states of a module.
type keyCheck struct {
	t       *testing.T
	module  bounded.Module
	inSome  map[string]bool // fields of which another value had another key
	visited map[string]bool
}

// TestKey: a field that can have another value is in the key, or the value has no effect:
// the steps are the same. What a key leaves out follows from it. A field of State that is
// not in the table is an error.
func TestKey(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	inSome, visited := map[string]bool{}, map[string]bool{}
	for name, m := range smallModules(t) {
		t.Run(name, func(t *testing.T) {
			c := &keyCheck{t, m, inSome, visited}
			initial, decode := m.Initial()[0], m.Decoder()
			states := 0
			everyState(m, func(s *bounded.State) {
				if states++; (states%100 == 0 || states < 2000 && states%10 == 0) && !t.Failed() {
					c.state(initial, s, decode(m.Key(nil, s)))
				}
			})
		})
	}
	for path, is := range uses {
		if !visited[path] && is != constant && is != noEffect {
			t.Errorf("%s is in no state", path)
		}
		if (is == inKey || is == setting || is == asked || is == ruled || is == aged) != inSome[path] {
			t.Errorf("%s is %q, but another value with another key was found: %v", path, is, inSome[path])
		}
	}
}

func (c *keyCheck) state(initial, s, decoded *bounded.State) {
	fixed := valuesOf(initial, constant)
	if now := valuesOf(s, constant); !slices.Equal(fixed, now) {
		c.t.Errorf("what should be constant was\n%s\nand is\n%s", fixed, now)
	}
	if was, is := valuesOf(s, follows), valuesOf(decoded, follows); !slices.Equal(was, is) {
		c.t.Errorf("what should follow was\n%s\nand is\n%s", was, is)
	}
	key, next := c.module.Key(nil, s), steps(c.module, s)
	fieldsOf(reflect.ValueOf(s).Elem(), "", func(path string, v reflect.Value) {
		c.visited[path] = true
		is, listed := useOf(path)
		switch {
		case !listed:
			c.t.Errorf("no key has %s", path)
		case is == zero && !v.IsZero():
			c.t.Errorf("%s is %v, not zero", path, v)
		case is == setting && !c.hasSettings():
			if before := initial.Config.MaxSplitSize; v.Uint() != before {
				c.t.Errorf("%s was %d and is %d", path, before, v.Uint())
			}
		case is == asked && !c.asks():
			if !v.Bool() && !strings.Contains(c.t.Name(), "/used_") { // whose pools are never captured
				c.t.Errorf("%s is false", path)
			}
		case is == ruled && v.IsZero():
		case is == inKey || is == noEffect || is == setting || is == asked || is == ruled || is == aged:
			c.change(s, path, v, key, next)
		}
	})
}

func (c *keyCheck) hasSettings() bool {
	_, is := c.module.(*bounded.Settings)
	return is
}

func (c *keyCheck) asksCallbacks() bool {
	_, is := c.module.(*bounded.NeedMemory)
	return is
}

func (c *keyCheck) asks() bool {
	_, is := c.module.(*bounded.CaptureFaults)
	return is
}

// change gives a field another value for a while: either the key is another, or the steps are
// the same.
func (c *keyCheck) change(s *bounded.State, path string, v reflect.Value, key []byte, next []string) {
	other, exists := another(v)
	if !exists || path == "Segments.Expandable" && !v.Bool() { // without pages it would be no segment
		return
	}
	if path == "Segments.PoolKind" && spec.PoolKind(v.Uint()) == spec.LargePool { // there is none above
		return
	}
	if c.asksCallbacks() && strings.HasPrefix(path, "PendingMallocs.") && path != "PendingMallocs.Stream" && path != "PendingMallocs.RequestedSize" {
		return // a malloc waits at one place
	}
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	v.Set(other)
	defer v.Set(old)
	if now, fits := c.key(s); !fits || !bytes.Equal(key, now) {
		c.inSome[path] = true
	} else if now := steps(c.module, s); !slices.Equal(next, now) {
		c.t.Errorf("%s: %v and %v have the same key, and not the same steps", path, old, other)
	}
}

// key is the key of a state, if its numbers fit into one.
func (c *keyCheck) key(s *bounded.State) (key []byte, fits bool) {
	defer func() {
		if problem := recover(); problem != nil && !strings.Contains(fmt.Sprint(problem), "does not fit into a key") {
			panic(problem)
		}
	}()
	return c.module.Key(nil, s), true
}

// valuesOf are the fields with a use as texts.
func valuesOf(s *bounded.State, wanted use) (list []string) {
	fieldsOf(reflect.ValueOf(s).Elem(), "", func(path string, v reflect.Value) {
		if is, _ := useOf(path); is == wanted {
			list = append(list, fmt.Sprintf("%s=%v", path, v))
		}
	})
	return list
}
