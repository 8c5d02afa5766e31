package releases

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/internal/rulenotes"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/replay"
	"gaugeblock/upstream"
)

// A rule is a field of upstream.Rules, or of its Settings.
type rule struct {
	name  string
	index []int
	kind  reflect.Kind
}

// rulesOf are all of them, without Settings.Keys: a set of keys is no rule of its own.
func rulesOf() (list []rule) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[upstream.Rules]()) {
		if f.Type.Kind() != reflect.Struct {
			list = append(list, rule{f.Name, f.Index, f.Type.Kind()})
			continue
		}
		for i := range f.Type.NumField() {
			if part := f.Type.Field(i); part.Name != "Keys" {
				list = append(list, rule{f.Name + "." + part.Name, append(f.Index, i), part.Type.Kind()})
			}
		}
	}
	return list
}

// value is the rule's value, as a number.
func (r rule) value(rules *upstream.Rules) uint64 {
	switch v := reflect.ValueOf(rules).Elem().FieldByIndex(r.index); {
	case r.kind != reflect.Bool:
		return v.Uint()
	case v.Bool():
		return 1
	}
	return 0
}

// with are the rules with another value.
func (r rule) with(rules upstream.Rules, value uint64) upstream.Rules {
	if v := reflect.ValueOf(&rules).Elem().FieldByIndex(r.index); r.kind == reflect.Bool {
		v.SetBool(value == 1)
	} else {
		v.SetUint(value)
	}
	return rules
}

// values are those that the rule has in some release.
func (r rule) values() map[uint64]bool {
	all := map[uint64]bool{}
	for _, release := range upstream.Releases() {
		all[r.value(&release.Rules)] = true
	}
	return all
}

// heldElsewhere are the rules that no recording can hold, and what holds them.
var heldElsewhere = map[string]string{
	"Settings.RestIncludesLast":      "upstream.TestSettings, by the libraries",
	"Settings.SplitSizeAboveSegment": "upstream.TestSettings, by the libraries",
	"FractionMakesCurrent":           "the lockstep with 2.8 and 2.9: a device's current stream is in no trace",
	"RoutedEmptyCacheFails":          "the libraries of 2.6 and 2.7, whose assertion a trace has as an error of another kind",
	"FabricByQuery":                  "the lockstep's stages: no trace has handles of fabric",
	"FabricPagesUnmap":               "the same",
	"FailedMappingUndone":            "the lockstep's stages: no trace has failures of mapping",
	"FailedUnmapAsserts":             "the same",
	"HandleSaysKind":                 "the lockstep's stages: two processes",
	"FailedImportUndone":             "the same",
	"ImportReservesItsSize":          "the same",
	"UnmapWaitsForItsDevice":         "the lockstep with 2.14 and 2.15: a wait is in no trace",
	"ExactAddress":                   "tools/torch.TestMallocAt: traces have no such request",
	"Annotations":                    "the libraries since 2.14: traces have no annotation",
	"PrivatePoolStats":               "the libraries since 2.13: the statistics of a trace are not by pool",
}

// TestEveryValueIsHeld: of each value that a rule has in a release there is a recording that is
// exact with it and with no other, or a reason why there is none.
func TestEveryValueIsHeld(t *testing.T) {
	held := map[string]bool{}
	for _, file := range recordings(t) {
		release := releaseOf(t, file)
		if !exact(t, file, release.Rules) {
			t.Errorf("%s is not exact by the rules of %s", file, release.Name)
			continue
		}
		for _, r := range rulesOf() {
			for other := range r.values() {
				if own := r.value(&release.Rules); other != own && !exact(t, file, r.with(release.Rules, other)) {
					held[fmt.Sprint(r.name, own)] = true
				}
			}
		}
	}
	for _, r := range rulesOf() {
		for value := range r.values() {
			is := held[fmt.Sprint(r.name, value)]
			// That a rule does not hold in 2.11 is held by what is recorded of 2.11.
			if reason, exempt := heldElsewhere[r.name]; value != 0 && is == exempt {
				t.Errorf("%s = %d: held by a recording: %v; elsewhere: %q", r.name, value, is, reason)
			}
		}
	}
}

func recordings(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.jsonl*")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	return files
}

func releaseOf(t *testing.T, file string) upstream.Release {
	tr, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	v, told, err := upstream.OfTrace(tr.Header().Release, tr.Header().Source)
	if err != nil || !told {
		t.Fatalf("%s tells no release: %v", file, err)
	}
	return v.Release
}

// exact reports whether a recording is exact by rules.
func exact(t *testing.T, file string, rules upstream.Rules) bool {
	result, err := replay.File(file, replay.Options{New: func(d spec.Driver, h *trace.Header) (spec.Allocator, error) {
		return alloc.New(d, alloc.Options{Geometry: h.Geometry, Settings: h.Settings, Rules: rules})
	}})
	return err == nil && result.Exact // other rules may refuse its settings
}

// TestEveryRuleIsRead: the allocator and the model ask each rule, but where its comment says why not.
// tla.TestEveryRuleIsSpecified is the same of the specification.
func TestEveryRuleIsRead(t *testing.T) {
	reasons, err := rulenotes.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"alloc", "model"} {
		read := selectorsOf(t, filepath.Join("..", "..", folder))
		for _, r := range rulesOf() {
			name, _, _ := strings.Cut(r.name, ".") // settings are read by their grammar
			if reason, left := reasons[folder][name]; read[name] == left {
				t.Errorf("%s: %s is read: %v; reason not to: %q", folder, r.name, read[name], reason)
			}
		}
	}
}

// TestNoVersionNumbers: neither asks for a release.
func TestNoVersionNumbers(t *testing.T) {
	version := regexp.MustCompile(`\b2\.(6|7|8|9|1\d)\b`)
	for _, folder := range []string{"alloc", "model"} {
		for file, syntax := range sourcesOf(t, filepath.Join("..", "..", folder)) {
			ast.Inspect(syntax, func(n ast.Node) bool {
				if lit, is := n.(*ast.BasicLit); is && version.MatchString(lit.Value) {
					t.Errorf("%s has the version %s", file, lit.Value)
				}
				return true
			})
		}
	}
}

// selectorsOf are the names that are selected of something that is called rules or Rules.
func selectorsOf(t *testing.T, folder string) map[string]bool {
	read := map[string]bool{}
	for _, syntax := range sourcesOf(t, folder) {
		ast.Inspect(syntax, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			switch of := s.X.(type) {
			case *ast.Ident:
				read[s.Sel.Name] = read[s.Sel.Name] || of.Name == "rules"
			case *ast.SelectorExpr:
				read[s.Sel.Name] = read[s.Sel.Name] || of.Sel.Name == "rules" || of.Sel.Name == "Rules"
			}
			return true
		})
	}
	return read
}

// sourcesOf are the files of a folder that are no tests.
func sourcesOf(t *testing.T, folder string) map[string]*ast.File {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", folder, len(names), err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = syntax
	}
	return files
}
