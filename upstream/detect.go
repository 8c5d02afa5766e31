package upstream

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// A Version is what an input says of its PyTorch, and the release that it is taken for.
type Version struct {
	Release
	// Text is the version as the input has it: "2.12.0+cu130".
	Text string
}

// String is "2.13.0", or says that nobody tried this version.
func (v Version) String() string {
	base := versionPattern.FindString(v.Text)
	switch {
	case v.Tried == "":
		return fmt.Sprintf("%s, by the rules of %s: nobody tried its libraries", v.Text, v.Name)
	case base == v.Tried || v.Text == v.Name:
		return v.Text
	}
	return fmt.Sprintf("%s, by the rules of %s, which is what was tried", v.Text, v.Tried)
}

// versionPattern has the major and the minor number, what follows them, and the variant.
var versionPattern = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.\d+)?((?:a|b|rc)\d+|\.dev\d+)?`)

// OfVersion is the release of a version as torch.__version__ has it: "2.11.0+cu130",
// "2.15.0a0+git1a2b3c4", "2.11.0+rocm7.1". The error says what is known instead.
func OfVersion(text string) (Version, error) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("%q is no version of PyTorch, such as 2.11.0+cu130", text)
	}
	name := m[1] + "." + m[2]
	if strings.Contains(text, "rocm") {
		if r, found := Find(name + "+rocm"); found {
			return Version{r, text}, nil
		}
	}
	r, found := Find(name)
	switch {
	case !found:
		return Version{}, fmt.Errorf("PyTorch %s is not known here: the releases %s to %s are", text, releases[0].Name, Newest().Name)
	case m[3] != "": // a development version lies between two releases
		r.Tried = ""
	}
	return Version{r, text}, nil
}

// torchVersion is where the name of a recorder has a version of PyTorch.
var torchVersion = regexp.MustCompile(`(?i)(?:py)?torch (\d+\.\d+\S*)`)

// OfTrace is the release of a trace: what its header names, or else the version of PyTorch that
// its source names. If nothing tells, told is false: it is the newest release, or, for a trace
// that gaugeblock made before headers named releases, 2.11.
func OfTrace(release, source string) (v Version, told bool, err error) {
	named := torchVersion.FindStringSubmatch(source)
	switch {
	case release != "":
		v, err = OfVersion(release)
	case named != nil:
		v, err = OfVersion(named[1])
	case strings.HasPrefix(source, "gaugeblock"), source == "libgaugeblock":
		r, _ := Find("2.11")
		return Version{r, r.Name}, false, nil
	default:
		return Version{Newest(), Newest().Name}, false, nil
	}
	return v, err == nil, err
}

// maxLibrary bounds how much of a library is read, in bytes.
const maxLibrary = 64 << 20

// OfLibrary is the release of a libc10_cuda.so, by strings that it has. One that is newer than
// all releases that are known cannot be told from the newest.
func OfLibrary(library io.Reader) (Release, error) {
	text, err := io.ReadAll(io.LimitReader(library, maxLibrary))
	if err != nil {
		return Release{}, err
	}
	if !bytes.HasPrefix(text, []byte("\x7fELF")) || !bytes.Contains(text, []byte("CUDACachingAllocator")) {
		return Release{}, fmt.Errorf("no libc10_cuda.so: it is no ELF file with PyTorch's CUDACachingAllocator")
	}
	found := releases[0]
	for _, r := range releases[1:] {
		if r.LibraryMark != "" && bytes.Contains(text, []byte(r.LibraryMark)) {
			found = r
		}
	}
	return found, nil
}
