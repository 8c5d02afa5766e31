package zoo

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu/cuda"
	"gaugeblock/tools/examine"
	"gaugeblock/tools/foreign"
)

var sanitized = flag.Bool("sanitized", false, "examine allocators that are built with sanitizers, beside libraries and a host that are, too")

// TestSanitized: what allocators of others ask in long conversations breaks no rule of C and C++, in the libraries, in
// the host of tools/examine and in the allocators. "make sanitize" asks for it.
func TestSanitized(t *testing.T) {
	if !*sanitized {
		t.Skip("no sanitizers are asked for")
	}
	folder := t.TempDir()
	for variable, others := range map[string][]string{"CC": {"cc", "gcc", "clang"}, "CXX": {"c++", "g++", "clang++"}} {
		compiler, err := cuda.Compiler(variable, others...)
		if err != nil {
			t.Skip(err)
		}
		script := filepath.Join(folder, variable)
		text := fmt.Sprintf("#!/bin/sh\nexec %s -fsanitize=address,undefined -fno-omit-frame-pointer -g \"$@\"\n", compiler)
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, script)
	}
	said := filepath.Join(folder, "said")
	t.Setenv("ASAN_OPTIONS", "detect_leaks=0:log_path="+said)
	t.Setenv("UBSAN_OPTIONS", "print_stacktrace=1:log_path="+said)
	t.Setenv("GAUGEBLOCK_CACHE", t.TempDir())
	t.Chdir(filepath.Join("..", ".."))
	w, err := foreign.Open(filepath.Join("..", "shared", "foreign"), t.TempDir(), "-O1")
	if err != nil {
		t.Skip(err)
	}
	host := t.TempDir()
	if err := examine.Build(host); err != nil {
		t.Fatal(err)
	}
	recipes, err := foreign.Recipes()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		if !slices.Contains([]string{"cub-cccl", "rmm-devfix-pool", "rmm-ptdsfix-arena"}, r.Name) {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			built(t, w, r)
			search := examine.Search{Library: filepath.Join(w.To, r.File()), Contract: strings.Join(r.Contract, ","), Level: conformance.Caching, Operations: 20000, Patience: time.Minute, Build: host}
			report, err := search.Run()
			if err != nil {
				t.Fatal(err)
			}
			operations := 0
			for _, s := range report.Searched {
				operations += s.Operations
			}
			t.Logf("%d operations, %d rules are broken", operations, len(report.Violations))
			files, err := filepath.Glob(said + ".*")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, _ := os.ReadFile(file)
				t.Errorf("%.3000s", strings.TrimSpace(string(text)))
			}
		})
	}
}
