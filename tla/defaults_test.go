package tla_test

import (
	"regexp"
	"strings"
	"testing"

	"gaugeblock/model/tlc"
	"gaugeblock/tla"
)

const defaultsFile = "Defaults.tla"

func read(t *testing.T, file string) string {
	text, err := tla.Files.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func defaults(t *testing.T) *tlc.Defaults {
	d, err := tlc.ReadDefaults([]byte(read(t, defaultsFile)), defaultsFile)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// files lists the files of the specification whose names end in ext.
func files(t *testing.T, ext string) (names []string) {
	entries, err := tla.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ext) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatalf("no file ends in %s", ext)
	}
	return names
}

var comments = regexp.MustCompile(`(?s)\(\*.*?\*\)|\\\*[^\n]*`)

// abstractFile declares constants of its own: it is about any allocator, and knows none of
// the settings in Defaults.tla.
const abstractFile = "AbstractMemory.tla"

// TestConstantsHaveOneDefault: every constant is defined in Defaults.tla and nowhere else,
// no module but abstractFile declares others, and each is used.
func TestConstantsHaveOneDefault(t *testing.T) {
	declaration := regexp.MustCompile(`(?m)^\s*CONSTANTS?\b.*`)
	all := ""
	for _, file := range files(t, ".tla") {
		text := comments.ReplaceAllString(read(t, file), "")
		if found := declaration.FindString(text); found != "" && file != abstractFile {
			t.Errorf("%s: %q: constants belong in %s, with a default", file, strings.TrimSpace(found), defaultsFile)
		}
		if file != defaultsFile {
			all += text
		}
	}
	names := defaults(t).Names()
	if len(names) == 0 {
		t.Fatal("there are no constants")
	}
	for _, name := range names {
		if regexp.MustCompile(`(?m)^` + name + `\b.*==`).MatchString(all) {
			t.Errorf("%s is defined outside of %s as well", name, defaultsFile)
		}
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(all) {
			t.Errorf("%s is used nowhere", name)
		}
	}
}

// standard has what the modules use of TLA+'s own modules, and the constants of AbstractMemory, to
// which its instances give values.
var standard = strings.Fields("Integers Sequences FiniteSets Nat Int Cardinality Append Head Tail Len Seq SubSeq SelectSeq " +
	"Home Names Align Needs")

// TestEveryNameIsDefined: each name in a module that begins with a capital letter is defined,
// so a constant without a default is found before TLC runs. Defined is what stands before
// the == of a line.
func TestEveryNameIsDefined(t *testing.T) {
	ignored := regexp.MustCompile(`"[^"]*"|\\[a-z]+`) // strings and operators
	name := regexp.MustCompile(`\b[A-Z][a-z]\w*`)
	defined := map[string]bool{}
	for _, n := range standard {
		defined[n] = true
	}
	texts := map[string]string{}
	for _, file := range files(t, ".tla") {
		defined[strings.TrimSuffix(file, ".tla")] = true
		texts[file] = ignored.ReplaceAllString(comments.ReplaceAllString(read(t, file), ""), "")
		for line := range strings.Lines(texts[file]) {
			if before, _, isDefinition := strings.Cut(line, "=="); isDefinition {
				for _, n := range name.FindAllString(before, -1) {
					defined[n] = true
				}
			}
		}
	}
	for _, file := range files(t, ".tla") {
		for _, n := range name.FindAllString(texts[file], -1) {
			if !defined[n] {
				t.Errorf("%s: %s is not defined: a constant needs a line in %s", file, n, defaultsFile)
				defined[n] = true // once is enough
			}
		}
	}
}

// TestConfigurationsNameWhatDiffers: no configuration file repeats a default, and none
// gives a value to what is no constant.
func TestConfigurationsNameWhatDiffers(t *testing.T) {
	d := defaults(t)
	for _, file := range files(t, ".cfg") {
		c, err := tla.ReadConfig([]byte(read(t, file)), file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range c.Names() {
			value, err := c.Value(name)
			if err != nil {
				t.Fatal(err)
			}
			if value == d.Value(name) {
				t.Errorf("%s: %s = %s is the default", file, name, value)
			}
		}
	}
}

// TestNewConstantTouchesNoConfiguration: with another line in Defaults.tla, every
// configuration has the constant.
func TestNewConstantTouchesNoConfiguration(t *testing.T) {
	text := strings.Replace(read(t, defaultsFile), "\nMinBlock ==", "\nNewSetting == FALSE \\* a test\nMinBlock ==", 1)
	d, err := tlc.ReadDefaults([]byte(text), defaultsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files(t, ".cfg") {
		c, err := tlc.ReadConfig([]byte(read(t, file)), file)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDefaults(d); err != nil {
			t.Error(err)
		}
		if value, err := c.Value("NewSetting"); err != nil || value != "FALSE" {
			t.Errorf("%s: NewSetting is %q, %v", file, value, err)
		}
	}
}

// TestReadConfigRefusesUnknown: TLC ignores a value for a name that is not defined.
func TestReadConfigRefusesUnknown(t *testing.T) {
	_, err := tla.ReadConfig([]byte("SPECIFICATION Spec\nCONSTANT Memroy = 4\n"), "x.cfg")
	if want := "x.cfg:2: Memroy is not defined in Defaults.tla"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}
