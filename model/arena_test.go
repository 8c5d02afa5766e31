package model

import (
	"reflect"
	"testing"
)

// TestResetUsesMemoryAgain: after a Reset the memory of each kind of slice is used again. (An Arena
// that is reset for each step would grow otherwise.)
func TestResetUsesMemoryAgain(t *testing.T) {
	a := &Arena{}
	slabs := map[string]reflect.Value{}
	for i := range reflect.TypeFor[Arena]().NumField() {
		field := reflect.TypeFor[Arena]().Field(i)
		if field.Name == "Notes" {
			continue
		}
		// Reset and Take are exported, the fields of states and truths are not.
		slabs[field.Name] = reflect.NewAt(field.Type, reflect.ValueOf(a).Elem().Field(i).Addr().UnsafePointer())
	}
	take := func(slab reflect.Value) uintptr {
		return slab.MethodByName("Take").Call([]reflect.Value{reflect.ValueOf(1)})[0].Pointer()
	}
	a.Reset()
	for _, slab := range slabs {
		take(slab)
	}
	a.Reset() // there is memory from now on
	first := map[string]uintptr{}
	for name, slab := range slabs {
		first[name] = take(slab)
	}
	a.Reset()
	for name, slab := range slabs {
		if take(slab) != first[name] {
			t.Errorf("the memory of %s is not used again", name)
		}
	}
}
