package cache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder: the folder of the variable, or else one of the user's, need not be there.
func TestFolder(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ own, xdg, home, want string }{
		{"/own", "/xdg", "/home/u", "/own"},
		{"own", "/xdg", "/home/u", filepath.Join(here, "own")},
		{"", "/xdg", "/home/u", "/xdg/gaugeblock"},
		{"", "", "/home/u", "/home/u/.cache/gaugeblock"},
		{"", "", "", "there is no folder for a cache (set GAUGEBLOCK_CACHE): "},
	} {
		t.Setenv("GAUGEBLOCK_CACHE", test.own)
		t.Setenv("XDG_CACHE_HOME", test.xdg)
		t.Setenv("HOME", test.home)
		got, err := Folder()
		if err != nil {
			got = err.Error()
		}
		if strings.HasPrefix(test.want, "there") && errors.Unwrap(err) == nil {
			t.Errorf("%v has no cause", err)
		}
		if (err == nil) != filepath.IsAbs(test.want) || !strings.HasPrefix(got, test.want) || err == nil && got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}
