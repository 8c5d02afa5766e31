package examine

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gaugeblock/internal/quote"
)

// checkRunnable says what to do instead, if what is given for a program is a file of another kind.
func checkRunnable(name string) error {
	text, kind := quote.Text(name), filepath.Ext(name)
	there, err := os.Stat(name)
	switch build := builds[kind]; {
	case err != nil && build != "":
		return err
	case err != nil || there.IsDir(): // starting it says what is wrong, or finds it in the path
		return nil
	case there.Mode().IsRegular() && isCalledOtherwise(name):
		return fmt.Errorf("%s is a shared library, whose name has to end in .so", text)
	case there.Mode()&0o111 != 0:
		return nil
	case build != "":
		library := "lib" + strings.TrimSuffix(filepath.Base(name), kind) + ".so"
		return fmt.Errorf("%s is no library: with the folder of \"make fake-cuda\" in FAKE, build it by %q and examine ./%s",
			text, fmt.Sprintf(build, text, library), library)
	case kind == ".py":
		return fmt.Errorf("%s is no program: a module with functions malloc and free is examined by \"--python %s\", a program of the line protocol by \"-- python3 %s\"", text, text, text)
	}
	return fmt.Errorf("%s is neither a shared library, whose name ends in .so, nor a program that can be started", text)
}

const buildsCplusplus = "c++ -shared -fPIC -x c++ %s -I$FAKE/include -L$FAKE -lcudart -o %s"

// builds are the commands that build a library, by the kind of its source.
var builds = map[string]string{
	".c": buildsCplusplus, ".cc": buildsCplusplus, ".cpp": buildsCplusplus, ".cxx": buildsCplusplus, ".cu": buildsCplusplus,
	".rs": "rustc --crate-type cdylib -L $FAKE -l cudart %s -o %s",
}

// isCalledOtherwise reports whether a file is a shared library of an allocator: it cannot be started, and exports the
// two functions.
func isCalledOtherwise(name string) bool {
	file, err := elf.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return false
		}
	}
	exported, _, err := exports(name)
	if err == nil {
		_, _, err = findPair(name, exported)
	}
	return err == nil
}
