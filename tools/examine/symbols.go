package examine

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/internal/quote"
)

// Functions are the names under which a library exports its functions. Malloc and Free have
// to be there; the others are hooks of PyTorch's CUDAPluggableAllocator and may be "".
type Functions struct {
	Malloc, Free string
	RecordStream string
	Init         string
	Reset        string // returns cached memory: "reset" or "empty_cache"
	Contract     string // gaugeblock_contract

	// And what PyTorch does not know.
	MallocAligned string
	Resize        string
	Sleep, Wake   string
	End           string
}

// contractSymbol is the function by which a library says what its contract is.
const contractSymbol = "gaugeblock_contract"

// pairs are the words that the two names differ in.
var pairs = [][2]string{
	{"malloc", "free"}, {"alloc", "free"}, {"allocate", "deallocate"}, {"alloc", "dealloc"}, {"allocate", "free"}, {"malloc", "dealloc"},
}

// FindFunctions finds the functions of a library. malloc and free are their names, or "":
// then the library must export exactly one pair of names that differ in the words malloc and free,
// or the like (my_malloc, my_free).
func FindFunctions(library, malloc, free string) (Functions, error) {
	exported, inCplusplus, err := exports(library)
	if err != nil {
		return Functions{}, err
	}
	hint := ""
	if len(inCplusplus) > 0 {
		hint = fmt.Sprintf(`; %s have C++'s names: declare the two functions extern "C"`, listed(inCplusplus))
	}
	f := Functions{Malloc: malloc, Free: free}
	if (malloc == "") != (free == "") {
		return f, errors.New("--alloc and --free are given together, or not at all")
	}
	if malloc == "" {
		if f.Malloc, f.Free, err = findPair(library, exported); err != nil {
			return f, fmt.Errorf("%w%s", err, hint)
		}
	}
	for _, name := range []string{f.Malloc, f.Free} {
		if !slices.Contains(exported, name) {
			return f, fmt.Errorf("%s exports no function %s; it exports %s%s", quote.Text(library), name, listed(exported), hint)
		}
	}
	f.findHooks(exported)
	return f, nil
}

// exports lists the functions that a library exports, and apart from them C++'s functions whose names are those
// of a pair.
func exports(library string) (names, inCplusplus []string, err error) {
	if there, err := os.Stat(library); err != nil {
		return nil, nil, err
	} else if !there.Mode().IsRegular() { // a FIFO would be waited for
		return nil, nil, fmt.Errorf("%s is no shared library: it is no regular file", quote.Text(library))
	}
	file, err := elf.Open(library)
	if err != nil {
		return nil, nil, fmt.Errorf("%s is no shared library: %w", quote.Text(library), err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, nil, fmt.Errorf("%s is no shared library: %w", quote.Text(library), err)
	}
	for _, s := range symbols {
		switch name := nameInCplusplus(s.Name); {
		case elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF:
		case !strings.HasPrefix(s.Name, "_"):
			names = append(names, s.Name)
		case slices.ContainsFunc(pairs, func(pair [2]string) bool { return hasWord(name, pair[0]) || hasWord(name, pair[1]) }):
			inCplusplus = append(inCplusplus, name)
		}
	}
	slices.Sort(names)
	slices.Sort(inCplusplus)
	return slices.Compact(names), slices.Compact(inCplusplus), nil
}

// nameInCplusplus is the name of a function of C++ outside of namespaces, from its mangled name; "" of others.
func nameInCplusplus(symbol string) string {
	rest, is := strings.CutPrefix(symbol, "_Z")
	name := strings.TrimLeft(rest, "0123456789")
	n, err := strconv.Atoi(rest[:len(rest)-len(name)])
	if !is || err != nil || n > len(name) {
		return ""
	}
	return name[:n]
}

func hasWord(name, word string) bool {
	_, has := replaceWord(name, word, "")
	return has
}

// findPair finds the only pair.
func findPair(library string, exported []string) (malloc, free string, err error) {
	var found [][2]string
	for _, name := range exported {
		for _, pair := range pairs {
			counterpart, has := replaceWord(name, pair[0], pair[1])
			if has && slices.Contains(exported, counterpart) && !slices.ContainsFunc(found, func(f [2]string) bool { return f[0] == name }) {
				found = append(found, [2]string{name, counterpart})
			}
		}
	}
	switch len(found) {
	case 0:
		return "", "", fmt.Errorf("%s exports no pair of functions such as my_malloc and my_free: name them by --alloc and --free; it exports %s", quote.Text(library), listed(exported))
	case 1:
		return found[0][0], found[0][1], nil
	}
	var candidates []string
	for _, f := range found {
		candidates = append(candidates, fmt.Sprintf("--alloc %s --free %s", f[0], f[1]))
	}
	return "", "", fmt.Errorf("%s exports several pairs of functions, say which: %s", quote.Text(library), strings.Join(candidates, ", or "))
}

// replaceWord replaces a word of a name, in which words are separated by underscores.
func replaceWord(name, word, by string) (string, bool) {
	words := strings.Split(name, "_")
	i := slices.Index(words, word)
	if i < 0 {
		return "", false
	}
	words[i] = by
	return strings.Join(words, "_"), true
}

// findHooks finds the hooks: they are called like the pair, with another word.
func (f *Functions) findHooks(exported []string) {
	stem := func(word string) string {
		for _, pair := range pairs {
			if name, has := replaceWord(f.Malloc, pair[0], word); has && name != word {
				return name
			}
		}
		return ""
	}
	for _, hook := range []struct {
		to    *string
		words []string
	}{
		{&f.RecordStream, []string{"record_stream"}},
		{&f.Init, []string{"init"}},
		{&f.Reset, []string{"empty_cache", "reset"}},
		{&f.MallocAligned, []string{"malloc_aligned"}},
		{&f.Resize, []string{"resize"}},
		{&f.Sleep, []string{"sleep"}},
		{&f.Wake, []string{"wake"}},
		{&f.End, []string{"end"}},
	} {
		for _, word := range hook.words {
			like := stem(word)
			for _, name := range []string{like, word} {
				// "init" and "reset" alone may be anything
				telling := name == like || strings.Contains(name, "_")
				if *hook.to == "" && telling && slices.Contains(exported, name) {
					*hook.to = name
				}
			}
		}
	}
	if slices.Contains(exported, contractSymbol) {
		f.Contract = contractSymbol
	}
}

// can says what else the functions are there for.
func (f *Functions) can() abilities {
	return abilities{aligns: f.MallocAligned != "", resizes: f.Resize != "", sleeps: f.Sleep != "" && f.Wake != "", ends: f.End != ""}
}

// listed are the names in a sentence, not all if there are many.
func listed(names []string) string {
	const most = 20
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// roles are the functions as the host program is told them.
func (f *Functions) roles() []string {
	var list []string
	for _, r := range []struct{ role, name string }{
		{"malloc", f.Malloc}, {"free", f.Free}, {"record_stream", f.RecordStream}, {"init", f.Init}, {"reset", f.Reset},
		{"contract", f.Contract}, {"malloc_aligned", f.MallocAligned}, {"resize", f.Resize},
		{"sleep", f.Sleep}, {"wake", f.Wake}, {"end", f.End},
	} {
		if r.name != "" {
			list = append(list, r.role+"="+r.name)
		}
	}
	return list
}
