// Package kept compares what a test says with what was said before, line by line. It is for tests that notice any change,
// where others say what is right. With -rewrite-answers the lines are written anew; read the difference.
package kept

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite-answers", false, "write what was said before anew")

// Compare compares lines with those of a file.
func Compare(t testing.TB, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, now := strings.Split(string(text), "\n"), strings.Split(got, "\n")
	for i := range max(len(before), len(now)) {
		switch {
		case i >= len(now):
			t.Fatalf("%s has a line more: %s", file, before[i])
		case i >= len(before) || now[i] != before[i]:
			t.Fatalf("%s, line %d: now it is %s", file, i+1, now[i])
		}
	}
}

// Sum is a checksum of texts, and of anything that JSON can say.
func Sum(of ...any) string {
	sum := uint32(0)
	for _, one := range of {
		text, is := one.(string)
		if !is {
			said, err := json.Marshal(one)
			if err != nil {
				said = []byte(err.Error())
			}
			text = string(said)
		}
		sum = crc32.Update(sum, crc32.IEEETable, []byte(text))
	}
	return fmt.Sprintf("%08x", sum)
}
