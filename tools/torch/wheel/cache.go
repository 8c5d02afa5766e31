package wheel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gaugeblock/internal/cache"
	"gaugeblock/internal/quote"
	"gaugeblock/internal/torchversion"
)

// folder is where a release is, or would be.
func folder(version string) (string, error) {
	in, err := cache.Folder()
	return filepath.Join(in, "torch-"+version), err
}

// A MissingError says that a release is not in the cache.
type MissingError struct{ Version, Cache string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("PyTorch %s is not in %s: \"gaugeblock torch get %[1]s\" gets it", e.Version, quote.Text(e.Cache))
}

// Find is the directory of a release's package (torch/), which has been fetched before. If it has
// not the error is a *MissingError.
func Find(version string) (string, error) {
	version, err := Resolve(version)
	if err != nil {
		return "", err
	}
	if version == Newest {
		have := Have()
		if len(have) == 0 {
			return "", missing(version)
		}
		version = have[len(have)-1]
	}
	dir, err := folder(version)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", missing(version)
	}
	return filepath.Join(dir, "torch"), nil
}

func missing(version string) error {
	in, err := cache.Folder()
	if err != nil {
		return err
	}
	return &MissingError{version, in}
}

// Have lists the releases that are in the cache, the oldest first.
func Have() (list []string) {
	in, err := cache.Folder()
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(in)
	for _, e := range entries {
		if version, is := strings.CutPrefix(e.Name(), "torch-"); is && full.MatchString(version) {
			list = append(list, version)
		}
	}
	slices.SortFunc(list, torchversion.Compare)
	return list
}

// Newest is the version that stands for the newest release of the package index, or, where nothing
// is fetched, of the cache.
const Newest = "newest"

var (
	full  = regexp.MustCompile(`^2\.[0-9]{1,3}\.[0-9]{1,3}$`)
	minor = regexp.MustCompile(`^2\.[0-9]{1,3}$`)
)

// IsVersion reports whether a text is a version, and not a folder.
func IsVersion(text string) bool {
	return text == Newest || full.MatchString(text) || minor.MatchString(text)
}

// Resolve makes a whole version of "2.13": that of the newest release of 2.13 that is listed.
func Resolve(text string) (version string, err error) {
	switch {
	case text == Newest || full.MatchString(text):
		return text, nil
	case !minor.MatchString(text):
		return "", fmt.Errorf("%s is no version of PyTorch, such as 2.15.0 or 2.15", quote.Text(text))
	}
	for _, release := range slices.Backward(Listed()) {
		if strings.HasPrefix(release, text+".") {
			return release, nil
		}
	}
	return text + ".0", nil
}
