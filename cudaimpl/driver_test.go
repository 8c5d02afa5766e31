//go:build cgo && linux

package cudaimpl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// opens is the variable with which this binary only opens the driver, and says what came of it.
const opens = "GAUGEBLOCK_TEST_OPENS"

func TestMain(m *testing.M) {
	if os.Getenv(opens) == "" {
		os.Exit(m.Run())
	}
	g, err := Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	of, err := g.StreamDevice(0)
	fmt.Printf("%d devices, %s, the default stream is of %d (%v)\n", g.DeviceCount(), g.DriverVersion(), of, err)
}

// TestDrivers: what drivers are good enough, and what is said of the others.
func TestDrivers(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	header, err := os.ReadFile("driver.h")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, found := range regexp.MustCompile(`M(?:UST|AY)\(\w+, "(\w+)"`).FindAllStringSubmatch(string(header), -1) {
		all = append(all, found[1])
	}
	const usable = "2 devices, 12.0, the default stream is of 1 (<nil>)"
	for name, c := range map[string]struct {
		version, init    int
		devices, current int // how many, and what the driver says to the question for the current one
		lacks            []string
		want             string
	}{
		"all":                       {12000, 0, 2, 0, nil, usable},
		"no current device":         {12000, 0, 2, 201, nil, "StreamDevice: CUDA_ERROR_UNKNOWN (201): cuCtxGetDevice: an error without a text"},
		"too old":                   {11080, 0, 2, 0, nil, "the driver is one for CUDA 11.8, it must be one for 12.0 or newer"},
		"without a GPU":             {12000, 100, 2, 0, nil, "the driver cannot be used: "},
		"no device":                 {12000, 0, 0, 0, nil, "the machine has no device"},
		"lacks a function":          {12000, 0, 2, 0, []string{"cuMemAlloc_v2"}, "the driver has no cuMemAlloc_v2; it must be one for CUDA 12.0 or newer"},
		"lacks the last that must":  {12000, 0, 2, 0, []string{"cuMemcpyDtoHAsync_v2"}, "the driver has no cuMemcpyDtoHAsync_v2; "},
		"only the older capture":    {12000, 0, 2, 0, []string{"cuStreamGetCaptureInfo_v3"}, usable},
		"only the newer capture":    {12000, 0, 2, 0, []string{"cuStreamGetCaptureInfo_v2"}, usable},
		"neither capture":           {12000, 0, 2, 0, []string{"cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3"}, "has no cuStreamGetCaptureInfo_v2 or _v3; "},
		"only the older dependency": {12000, 0, 2, 0, []string{"cuGraphNodeGetDependencies_v2"}, usable},
		"only the newer dependency": {12000, 0, 2, 0, []string{"cuGraphNodeGetDependencies"}, usable},
		"neither dependency":        {12000, 0, 2, 0, []string{"cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies_v2"}, "has no cuGraphNodeGetDependencies or _v2; "},
		"no library":                {0, 0, 0, 0, all, "the driver's library cannot be opened: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			library := filepath.Join(dir, "libcuda.so.1")
			if len(c.lacks) == len(all) {
				if err := os.WriteFile(library, []byte("no library"), 0o644); err != nil {
					t.Fatal(err)
				}
			} else {
				var source strings.Builder
				fmt.Fprintf(&source, "int cuDriverGetVersion(int *v) { return *v = %d, 0; }\nint cuInit(unsigned u) { return u ? 1 : %d; }\nint cuDeviceGetCount(int *n) { return *n = %d, 0; }\n"+
					"int cuDeviceGet(int *d, int i) { return *d = 7 - i, 0; }\nint cuCtxGetDevice(int *d) { return *d = 6, %d; }\n", c.version, c.init, c.devices, c.current)
				for _, function := range all {
					if !slices.Contains(c.lacks, function) && !strings.Contains(source.String(), function+"(") {
						fmt.Fprintf(&source, "int %s(void) { return 0; }\n", function)
					}
				}
				build := exec.Command(compiler, "-w", "-shared", "-fPIC", "-x", "c", "-o", library, "-")
				build.Stdin = strings.NewReader(source.String())
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			open := exec.Command(os.Args[0])
			open.Env = append(os.Environ(), opens+"=1", "LD_LIBRARY_PATH="+dir)
			out, err := open.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v: %q has not %q", err, out, c.want)
			}
		})
	}
}
