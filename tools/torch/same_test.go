package torch

import (
	"reflect"
	"testing"

	"gaugeblock/spec"
)

// TestSameSegment: a segment is not like one that differs in any field, contexts left out.
func TestSameSegment(t *testing.T) {
	plain := func() spec.Segment { return spec.Segment{Blocks: make([]spec.Block, 1)} }
	if !sameSegment(plain(), plain()) {
		t.Fatal("equal segments are not alike")
	}
	differ := func(of func(s *spec.Segment) reflect.Value) {
		for i := range of(new(spec.Segment)).NumField() {
			changed := plain()
			field, name := of(&changed).Field(i), of(&changed).Type().Field(i).Name
			switch field.Kind() {
			case reflect.Interface: // a context
				continue
			case reflect.Slice:
				field.SetLen(0)
			default:
				change(field)
			}
			if sameSegment(plain(), changed) || sameSegment(changed, plain()) {
				t.Errorf("segments that differ in %s are alike", name)
			}
		}
	}
	differ(func(s *spec.Segment) reflect.Value { return reflect.ValueOf(s).Elem() })
	differ(func(s *spec.Segment) reflect.Value {
		if s.Blocks == nil {
			s.Blocks = make([]spec.Block, 1)
		}
		return reflect.ValueOf(&s.Blocks[0]).Elem()
	})
}

// change makes a zero value another one.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		change(v.Field(0))
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	default:
		v.SetUint(1)
	}
}
