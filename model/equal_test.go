package model_test

import (
	"fmt"
	"reflect"
	"testing"

	"gaugeblock/model"
	"gaugeblock/upstream"
)

// TestEqualLooksAtEverything: a state is not equal to one that differs in one value, whichever it is, seen from either side.
func TestEqualLooksAtEverything(t *testing.T) {
	s := newState("")
	full := reflect.ValueOf(&s).Elem()
	fill(full)
	differences := 0
	was := newState("")
	fill(reflect.ValueOf(&was).Elem())
	if !s.Equal(was) {
		t.Error("equal states are not")
	}
	eachChange(full, "State", func(path string) {
		differences++
		if s.Equal(was) || was.Equal(s) {
			t.Errorf("%s makes no difference", path)
		}
	})
	if differences < 100 {
		t.Errorf("only %d values", differences)
	}
}

// fill gives each list two elements.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	}
}

// eachChange changes each value in turn, calls back, and restores it.
func eachChange(v reflect.Value, path string, changed func(path string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				eachChange(v.Field(i), path+"."+v.Type().Field(i).Name, changed)
			}
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			eachChange(v.Index(i), fmt.Sprintf("%s[%d]", path, i), changed)
		}
		v.Set(v.Slice(0, v.Len()-1))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	default:
		return
	}
	changed(path)
	v.Set(old)
}

// TestNumbers: what was made earlier has the smaller number of 1, 2, ..., and what the rules do not number has 0.
func TestNumbers(t *testing.T) {
	for rule, want := range map[upstream.Ties]string{
		upstream.TiesBySegment: "2[0 0] 1[0]", upstream.TiesByBlock: "0[3 1] 0[2]",
	} {
		s := model.State{Rules: upstream.Rules{Ties: rule}}
		s.Segments = []model.Segment{{Blocks: []model.Block{{Made: 90}, {Made: 30}}}, {Blocks: []model.Block{{Made: 40}}}}
		if rule == upstream.TiesBySegment {
			s.Segments[0].Blocks[1].Made, s.Segments[1].Blocks[0].Made = 90, 40 // of one segment all are the same
		}
		s.Number()
		got := ""
		for _, g := range s.Segments {
			got += fmt.Sprintf(" %d[", g.Made)
			for i, b := range g.Blocks {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprint(b.Made)
			}
			got += "]"
		}
		if got[1:] != want {
			t.Errorf("%v: %s, want %s", rule, got[1:], want)
		}
	}
}
