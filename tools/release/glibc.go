package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
)

// linuxTag is the tag of a wheel for x86-64 by what its files ask of the system: the newest release
// of glibc of which one needs a symbol, as PEP 600 has it. Other libraries than glibc's are an error.
func (w wheel) linuxTag() (string, error) {
	newest := 17 // the oldest that pip has a name for beside those of before
	for name, m := range w {
		if !bytes.HasPrefix(m.text, []byte(elf.ELFMAG)) {
			continue
		}
		minor, err := w.glibc(m.text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		newest = max(newest, minor)
	}
	return fmt.Sprintf("manylinux_2_%d_x86_64", newest), nil
}

// glibc is the minor number of the release of glibc that a file needs.
func (w wheel) glibc(text []byte) (newest int, err error) {
	file, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	needed, err := file.ImportedLibraries()
	if err != nil {
		return 0, err
	}
	for _, library := range needed {
		if _, own := w["gaugeblock/bin/fake-cuda/"+library]; !own && !ofGlibc[library] {
			return 0, fmt.Errorf("needs %s, which is neither in the wheel nor glibc's", library)
		}
	}
	symbols, err := file.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) { // a static program has none
		return 0, err
	}
	for _, symbol := range symbols {
		var minor int
		if _, err := fmt.Sscanf(symbol.Version, "GLIBC_2.%d", &minor); err == nil {
			newest = max(newest, minor)
		}
	}
	return newest, nil
}

var ofGlibc = map[string]bool{"libc.so.6": true, "libdl.so.2": true, "libpthread.so.0": true, "librt.so.1": true, "libm.so.6": true, "ld-linux-x86-64.so.2": true}
