package linearizability

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"gaugeblock/tests/broken"
	"gaugeblock/tests/linearizability/instrument"
)

// mutants are the mistakes that are built in, relative to the module.
const mutants = "tests/broken/testdata/locks/*.txt"

// self is this package, relative to the module.
const self = "./tests/linearizability"

// build builds this package's tests with the points in alloc, into a folder, and returns its file.
func build(dir string) (string, error) {
	root, err := goOutput("", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return "", err
	}
	list, err := readMutants(root)
	if err != nil {
		return "", err
	}
	overlay, err := instrument.Overlay(root, "alloc", dir, list)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "interleave")
	_, err = goOutput(root, "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, self)
	return binary, err
}

// readMutants reads the mistakes.
func readMutants(root string) (list []instrument.Mutant, err error) {
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(mutants)))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		b, err := broken.Read(path)
		if err != nil {
			return nil, err
		}
		file, text, err := b.Apply(root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, instrument.Mutant{
			Name: strings.TrimSuffix(filepath.Base(path), ".txt"), File: filepath.Base(file), Text: text,
		})
	}
	return list, nil
}

// goOutput runs the go command in a folder.
func goOutput(dir string, args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", command, err, problems.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}
