package main

import (
	"fmt"
	"strings"

	"gaugeblock/internal/quote"
)

// commandBehind is a command without the -- before it.
func commandBehind(words []string, of string) ([]string, error) {
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return nil, fmt.Errorf("%s: there is no command after --", of)
	case strings.HasPrefix(words[0], "-"):
		return nil, fmt.Errorf("%s: unknown flag %s", of, quote.Text(words[0]))
	}
	return words, nil
}
