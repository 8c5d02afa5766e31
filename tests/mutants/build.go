package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// build is the source with all its mutants in it, which the go command uses through an overlay.
type build struct {
	root, dir string // of the module; for what is written
	folder    string // that is changed, below root
	mutants   map[int]*mutant
	order     []int
	files     map[string]*variants // by the names of mutants
}

// newBuild takes the first n mutants that compile, or all of them if n is 0. broken is how many others there were before.
func newBuild(root, dir, folder string, candidates []mutant, n int) (b *build, broken int, err error) {
	b = &build{root: root, dir: dir, folder: folder, mutants: map[int]*mutant{}}
	next := 0
	for {
		for next < len(candidates) && (n == 0 || len(b.order) < n) {
			b.order = append(b.order, next+1)
			b.mutants[next+1] = &candidates[next]
			next++
		}
		bad, err := b.compile()
		if err != nil || len(bad) == 0 {
			return b, broken, err
		}
		kept := b.order[:0]
		for _, number := range b.order {
			if bad[number] {
				broken++
				delete(b.mutants, number)
			} else {
				kept = append(kept, number)
			}
		}
		b.order = kept
	}
}

func (b *build) overlay() string { return filepath.Join(b.dir, "overlay.json") }

// compile writes the files, and returns the mutants that do not compile.
func (b *build) compile() (bad map[int]bool, err error) {
	if err := b.write(); err != nil {
		return nil, err
	}
	out, err := b.command("build", "-gcflags=-e", "-overlay", b.overlay(), "./"+b.folder).CombinedOutput()
	if err == nil {
		return nil, nil
	}
	bad = map[int]bool{}
	for _, found := range regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`).FindAllSubmatch(out, -1) {
		for file, v := range b.files {
			line, err := strconv.Atoi(string(found[2]))
			same := filepath.Base(file) == filepath.Base(string(found[1])) || changedName(file) == filepath.Base(string(found[1]))
			if same && err == nil && line <= len(v.owners) && v.owners[line-1] > 0 {
				bad[v.owners[line-1]] = true
			}
		}
	}
	if len(bad) == 0 {
		return nil, fmt.Errorf("the mutants do not compile, and no mutant is to blame:\n%s", out)
	}
	return bad, nil
}

func changedName(file string) string { return "changed_" + filepath.Base(file) }

// write writes the file of variants of each source file, and the overlay that names them.
func (b *build) write() error {
	byFile := map[string][]int{}
	for _, number := range b.order {
		file := b.mutants[number].file
		byFile[file] = append(byFile[file], number)
	}
	replace := map[string]string{}
	b.files = map[string]*variants{}
	pkg := ""
	for file, order := range byFile {
		path := filepath.Join(b.root, filepath.FromSlash(file))
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		v := newVariants(source, b.mutants, order)
		b.files[file] = v
		replace[path] = filepath.Join(b.dir, changedName(file))
		if err := os.WriteFile(replace[path], []byte(v.text), 0o644); err != nil {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, source, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		pkg = tree.Name.Name
	}
	if pkg == "" {
		return errors.New("no mutant compiles")
	}
	added := filepath.Join(b.dir, "choose.go")
	replace[filepath.Join(b.root, filepath.FromSlash(b.folder), "mutants_choose.go")] = added
	if err := os.WriteFile(added, fmt.Appendf(nil, addedPackage, pkg, slices.Max(b.order)+1), 0o644); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(b.overlay(), text, 0o644)
}

func (b *build) command(args ...string) *exec.Cmd {
	c := exec.Command("go", args...)
	c.Dir = b.root
	return c
}

// binary is the file of the tests of a package.
func (b *build) binary(pkg string) string { return filepath.Join(b.dir, filepath.Base(pkg)+".test") }

// tests builds the tests of packages, in one call of the go command, which compiles what they share once.
func (b *build) tests(packages []string, race bool) error {
	args := []string{"test", "-c", "-vet=off", "-o", b.dir + string(filepath.Separator), "-overlay", b.overlay()}
	if race {
		args = append(args, "-race")
	}
	for _, pkg := range packages {
		pkg, _, _ = strings.Cut(pkg, " ")
		args = append(args, "./"+pkg)
	}
	if out, err := b.command(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}
