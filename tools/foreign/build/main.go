// Command build builds recipes of tools/foreign: "make foreign SRC=…".
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"gaugeblock/tools/foreign"
)

func main() {
	flags := foreign.NewFlags("recipes")
	flag.Parse()
	if err := build(flags); err != nil {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		os.Exit(1)
	}
}

func build(flags foreign.Flags) error {
	w, match, recipes, err := flags.Open()
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
