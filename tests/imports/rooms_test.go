package imports

import (
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "gaugeblock/"
	root   = "../.."
)

// mayImport says, for each room, which other rooms its code may import beside
// itself. Test files are left out: a test may bring any rooms together. A room is
// named by its folder; the longest name that fits a package counts.
var mayImport = map[string][]string{
	"spec":                  {},
	"spec/happensbefore":    {"spec"},
	"spec/settings":         {"spec", "internal/similar"},
	"upstream":              {"spec/settings"},
	"spec/trace":            {"spec", "internal/quote"},
	"spec/invariant":        {"spec", "spec/trace", "spec/happensbefore"},
	"internal/cache":        {},
	"internal/quote":        {},
	"internal/unpack":       {},
	"internal/brief":        {},
	"internal/checkout":     {},
	"internal/rulenotes":    {"internal/checkout"},
	"internal/allrows":      {},
	"internal/gcpercent":    {},
	"internal/race":         {},
	"internal/getenv":       {},
	"internal/rewrite":      {},
	"internal/inorder":      {},
	"internal/memlimit":     {"spec/trace"},
	"internal/testfolder":   {},
	"internal/signals":      {},
	"internal/similar":      {},
	"internal/sizes":        {"spec"},
	"internal/torchversion": {},
	"internal/churn":        {"spec"},
	"internal/kept":         {},
	"internal/mutated":      {},
	"internal/refinement":   {"spec", "spec/trace", "alloc", "fakegpu", "model"},
	"alloc":                 {"spec", "upstream"},
	"graphtree":             {"spec"},
	"fakegpu":               {"spec", "spec/happensbefore", "internal/cache", "internal/getenv"}, // the last two of fakegpu/cuda only
	"cudaimpl":              {"spec"},
	"cudaimpl/pluggable":    {"spec", "spec/trace", "upstream", "alloc", "cudaimpl", "internal/getenv"},
	"model":                 {"spec", "spec/settings", "spec/trace", "upstream"},
	"tla":                   {"model"},
	"conformance":           {"spec", "spec/trace", "spec/invariant", "spec/happensbefore", "fakegpu", "conformance/perform", "upstream"},
	"conformance/perform":   {"spec", "spec/trace", "fakegpu", "graphtree"},
	"tools/replay":          {"spec", "internal/quote", "spec/trace", "fakegpu", "conformance/perform", "internal/memlimit", "internal/torchversion"},
	"snapshot":              {"spec", "upstream", "internal/quote", "spec/settings", "internal/memlimit", "internal/unpack"},
	"snapshot/history":      {"spec", "upstream", "internal/quote", "spec/settings", "spec/trace", "snapshot", "internal/memlimit"},
	"snapshot/play":         {"spec", "upstream", "spec/trace", "alloc", "fakegpu", "snapshot", "snapshot/history", "internal/memlimit"},
	"snapshot/compare":      {"spec", "upstream", "snapshot", "snapshot/history", "snapshot/play", "internal/memlimit", "internal/inorder"},
	"snapshot/tell":         {"spec", "internal/quote", "internal/brief", "snapshot", "snapshot/history", "snapshot/play", "snapshot/compare"},
	"snapshot/errortext":    {"spec", "internal/brief"},
	"snapshot/report":       {"spec", "internal/quote", "internal/brief", "snapshot", "snapshot/history", "snapshot/play", "snapshot/compare", "snapshot/tell"},
	"snapshot/record":       {},
	"python":                {},
	"tools/check":           {"spec", "spec/happensbefore", "internal/quote", "spec/trace", "fakegpu", "conformance/perform", "internal/memlimit"},
	"tools/compare":         {"spec", "spec/trace", "upstream", "conformance", "fakegpu", "internal/quote", "internal/memlimit", "snapshot/history", "snapshot/play", "tools/examine", "conformance/perform"},
	"tools/foreign":         {"fakegpu"},
	"tools/zoo":             {"tools/foreign"},
	"tools/torch":           {"spec", "spec/settings", "spec/trace", "internal/churn", "internal/refinement", "internal/sizes", "fakegpu", "cudaimpl", "model", "tla", "conformance", "conformance/perform", "tools/replay", "tools/torch/binary", "tools/torch/wheel", "tools/reference", "upstream"},
	"tools/torch/wheel":     {"internal/cache", "internal/quote", "internal/torchversion"},
	"tools/torch/binary":    {"spec", "internal/quote", "spec/settings", "fakegpu", "upstream"},
	"tools/run":             {"spec", "upstream", "internal/brief", "internal/cache", "internal/checkout", "internal/quote", "internal/signals", "fakegpu", "python"},
	"tools/fit":             {"spec", "fakegpu", "tools/run"},
	"tools/release":         {"fakegpu", "snapshot/record"},
	"tools/examine":         {"spec", "internal/quote", "spec/trace", "fakegpu", "conformance", "tools/reference"},
	"tools/reference":       {"spec", "spec/trace", "alloc", "upstream"},
	"tests":                 {"spec", "spec/happensbefore", "internal/checkout", "internal/churn", "internal/rewrite", "alloc", "fakegpu", "model", "tla"},
	"cmd/gaugeblock":        {"spec", "internal/quote", "spec/trace", "model", "tla", "snapshot", "snapshot/history", "snapshot/play", "snapshot/compare", "snapshot/tell", "snapshot/errortext", "snapshot/report", "snapshot/record", "tools/replay", "conformance", "tools/check", "tools/reference", "tools/torch", "tools/torch/binary", "tools/torch/wheel", "tools/examine", "fakegpu", "tools/run", "tools/fit", "tools/compare", "upstream", "internal/memlimit", "internal/inorder", "internal/unpack", "internal/brief", "internal/signals", "internal/similar"},
}

// TestImports: arrows point from the command to the tools, from the tools to alloc,
// fakegpu, model and cudaimpl, and from all of them to spec.
func TestImports(t *testing.T) {
	imports := importsOfModule(t)
	used := map[string][]string{}
	for pkg, targets := range imports {
		room := roomOf(pkg)
		if room == "" {
			t.Errorf("%s is in no room", pkg)
			continue
		}
		for _, target := range targets {
			to := roomOf(target)
			if to == room {
				continue
			}
			used[room] = append(used[room], to)
			if !slices.Contains(mayImport[room], to) {
				t.Errorf("%s imports %s: the room %s may not import the room %s", pkg, target, room, to)
			}
		}
	}
	for room, allowed := range mayImport {
		for _, to := range allowed {
			if !slices.Contains(used[room], to) {
				t.Errorf("%s may import %s, and does not", room, to)
			}
		}
	}
}

// TestOpenRooms: what a user of the contract, of the allocator, of the fake GPU or of
// the model imports brings in nothing of the tests, the snapshot tools or the command.
func TestOpenRooms(t *testing.T) {
	for pkg, targets := range importsOfModule(t) {
		first, _, _ := strings.Cut(pkg, "/")
		if !slices.Contains([]string{"spec", "upstream", "alloc", "graphtree", "fakegpu", "model", "cudaimpl"}, first) {
			continue
		}
		for _, target := range targets {
			first, _, _ := strings.Cut(target, "/")
			if slices.Contains([]string{"tests", "tools", "snapshot", "cmd"}, first) {
				t.Errorf("%s imports %s", pkg, target)
			}
		}
	}
}

// TestFilesAtTheTop: the folder of the module holds no code, and nothing that a command has left there.
func TestFilesAtTheTop(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		known := []string{"LICENSE", "Makefile", "README.md", "go.mod", "go.sum", "gaugeblock"} // .gitignore has the last and these endings
		ignored := slices.Contains([]string{".test", ".prof"}, path.Ext(e.Name()))
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(known, e.Name()) && !ignored {
			t.Errorf("%s belongs into a folder, or nowhere", e.Name())
		}
	}
}

// TestNothingBuilt: no folder holds what a compiler has made, and none is named as a flag of one.
func TestNothingBuilt(t *testing.T) {
	made := []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "!<arch>"} // of Linux, Windows, macOS, and archives
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		within, _ := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(within, ".") && within != "." || within == "build"):
			return fs.SkipDir
		case strings.HasPrefix(entry.Name(), "-"):
			t.Errorf("%s is named as a flag", within)
		case !entry.Type().IsRegular() || within == "gaugeblock" || slices.Contains([]string{".test", ".prof"}, path.Ext(name)): // as .gitignore
			return nil
		}
		begins := make([]byte, 8)
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		n, _ := io.ReadFull(file, begins)
		if slices.ContainsFunc(made, func(m string) bool { return strings.HasPrefix(string(begins[:n]), m) }) {
			t.Errorf("%s is built, and is no source", within)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// roomOf is the room with the longest name that a package's path begins with.
func roomOf(pkg string) (room string) {
	for name := range mayImport {
		if (pkg == name || strings.HasPrefix(pkg, name+"/")) && len(name) > len(room) {
			room = name
		}
	}
	return room
}

// importsOfModule lists which packages of the module each package imports, in files
// that are not tests, for whatever system they are built.
func importsOfModule(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base == "testdata" || base != ".." && strings.HasPrefix(base, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(relative))
		imports[pkg] = slices.Clone(imports[pkg])
		for _, spec := range file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if local, ours := strings.CutPrefix(target, module); ours && !slices.Contains(imports[pkg], local) {
				imports[pkg] = append(imports[pkg], local)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(imports) < 25 {
		t.Fatalf("only %d packages found", len(imports))
	}
	return imports
}
