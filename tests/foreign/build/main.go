// Command build builds recipes of tests/foreign: "make foreign SRC=…".
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gaugeblock/tests/foreign"
)

func main() {
	src := flag.String("src", filepath.Join("..", "shared", "foreign"), "the folder of sources, or of sources.tar.xz, which is unpacked beside what is built")
	to := flag.String("to", filepath.Join("build", "foreign"), "where to build")
	only := flag.String("only", "", "build only recipes whose names match this expression")
	options := flag.String("options", "-O1", "options of the C++ compiler")
	flag.Parse()
	if err := build(*src, *to, *only, *options); err != nil {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		os.Exit(1)
	}
}

func build(src, to, only, options string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	recipes, err := foreign.Recipes()
	if err != nil {
		return err
	}
	w, err := foreign.Open(src, to, options)
	if err != nil {
		return err
	}
	var failed []string
	for _, r := range recipes {
		if !match.MatchString(r.Name) {
			continue
		}
		begun := time.Now()
		file, err := w.Build(r)
		switch {
		case errors.Is(err, foreign.ErrMissing):
			fmt.Println("skipped:", err)
		case err != nil:
			failed = append(failed, r.Name)
			fmt.Println("failed:", err)
		default:
			fmt.Printf("%s (%.0f s)\n", file, time.Since(begun).Seconds())
		}
	}
	if failed != nil {
		return fmt.Errorf("not built: %s", strings.Join(failed, ", "))
	}
	return nil
}
