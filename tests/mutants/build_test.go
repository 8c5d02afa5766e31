package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/internal/rewrite"
)

// build is the source with all its mutants in it, which the go command uses through an overlay.
type build struct {
	root, dir string // of the module; for what is written
	overlay   string // the argument of go build's -overlay
	folder    string // that is changed, below root
	mutants   map[int]*mutant
	order     []int
	files     map[string]*variants // by the names of mutants
}

// newBuild takes the first n mutants that compile, or all of them if n is 0. broken is how many
// others there were before.
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

// compile writes the files, and returns the mutants that do not compile.
func (b *build) compile() (bad map[int]bool, err error) {
	if err := b.write(); err != nil {
		return nil, err
	}
	out, err := b.command("build", "-gcflags=-e", "-o", os.DevNull, "-overlay", b.overlay, "./"+b.folder).CombinedOutput()
	if err == nil {
		return nil, nil
	}
	if bad = b.toBlame(out); len(bad) == 0 {
		return nil, fmt.Errorf("the mutants do not compile, and no mutant is to blame:\n%s", out)
	}
	return bad, nil
}

// toBlame are the mutants in whose lines the go command has found something.
func (b *build) toBlame(out []byte) map[int]bool {
	found := map[int]bool{}
	for _, at := range regexp.MustCompile(`(?m)^(?:vet: )?(\S+\.go):(\d+):`).FindAllSubmatch(out, -1) {
		for file, v := range b.files {
			line, err := strconv.Atoi(string(at[2]))
			if filepath.Base(file) == filepath.Base(string(at[1])) && err == nil && line <= len(v.owners) && v.owners[line-1] > 0 {
				found[v.owners[line-1]] = true
			}
		}
	}
	return found
}

// vet are the mutants that "go test" notices before it runs a test: such as a format whose arguments do not fit.
func (b *build) vet() map[int]bool {
	args := []string{"vet", "-overlay", b.overlay}
	for _, check := range strings.Fields("atomic bools directive errorsas ifaceassert nilfunc printf stringintconv") {
		args = append(args, "-"+check)
	}
	out, err := b.command(append(args, "./"+b.folder)...).CombinedOutput()
	if err == nil {
		return nil
	}
	return b.toBlame(out)
}

// write writes the file of variants of each source file, and the overlay that names them.
func (b *build) write() error {
	byFile := map[string][]int{}
	for _, number := range b.order {
		file := b.mutants[number].file
		byFile[file] = append(byFile[file], number)
	}
	if len(byFile) == 0 {
		return errors.New("no mutant compiles")
	}
	texts := map[string]string{}
	b.files = map[string]*variants{}
	for file, order := range byFile {
		path := filepath.Join(b.root, filepath.FromSlash(file))
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		v := newVariants(string(source), b.mutants, order)
		b.files[file], texts[path] = v, v.text
	}
	texts[filepath.Join(b.root, filepath.FromSlash(b.folder), "mutants_choose.go")] =
		fmt.Sprintf(addedPackage, b.mutants[b.order[0]].in.pkg, slices.Max(b.order)+1)
	if *apart {
		texts[filepath.Join(b.root, filepath.FromSlash(judges), "activate_test.go")] = activating
	}
	if err := addOverlay(*base, texts); err != nil {
		return err
	}
	var err error
	b.overlay, err = rewrite.Overlay(b.dir, texts)
	return err
}

// addOverlay adds the files of an overlay. One that is changed has no other text.
func addOverlay(file string, texts map[string]string) error {
	if file == "" {
		return nil
	}
	list, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(list, &overlay); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for path, other := range overlay.Replace {
		text, err := os.ReadFile(other)
		if err != nil {
			return err
		}
		if texts[path] != "" {
			return fmt.Errorf("%s has %s, which mutants change", file, path)
		}
		texts[path] = string(text)
	}
	return nil
}

func (b *build) command(args ...string) *exec.Cmd {
	c := exec.Command("go", args...)
	c.Dir = b.root
	return c
}

// binary is the file of the tests of a package.
func (b *build) binary(pkg string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "-")+".test")
}

// tests builds the tests of packages.
func (b *build) tests(packages []string, race bool) error {
	args := []string{"test", "-c", "-vet=off", "-overlay", b.overlay}
	if race {
		args = append(args, "-race")
	}
	for _, pkg := range packages {
		pkg, _, _ = strings.Cut(pkg, " ")
		if out, err := b.command(append(slices.Clone(args), "-o", b.binary(pkg), "./"+pkg)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
		}
	}
	return nil
}
