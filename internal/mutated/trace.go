package mutated

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
)

// wrong are changes of a line of a trace that leave it readable, the last two only in the newer format: what is found becomes the text.
var wrong = []struct {
	found *regexp.Regexp
	text  string
}{
	{regexp.MustCompile(`"stream":\d`), `"stream":0`},
	{regexp.MustCompile(`"size":(\d+)`), `"size":${1}0`},
	{regexp.MustCompile(`"size":(\d+)\d`), `"size":1${1}`},
	{regexp.MustCompile(`"addr":(\d{5,})\d{3},?`), `"addr":${1}512,`},
	{regexp.MustCompile(`,"addr":\d+`), ``},
	{regexp.MustCompile(`"events":.*\]\],`), `"events":[],`},
	{regexp.MustCompile(`\["alloc",(\d+),(\d+),`), `["alloc",$1,1$2,`},
	{regexp.MustCompile(`\["segment_(alloc|map)",(\d+),(\d+),`), `["segment_$1",$2,2097152,`},
	{regexp.MustCompile(`\["segment_\w+",[^]]*\],?`), ``},
	{regexp.MustCompile(`,\["free_completed",[^]]*\]`), ``},
	{regexp.MustCompile(`"stats":\[\d+`), `"stats":[77`},
	{regexp.MustCompile(`,"error":"[^"]*"`), ``},
	{regexp.MustCompile(`"events":.*\]\],`), ``},
	{regexp.MustCompile(`"events":.*\]\],"stats":\[[^]]*\],`), ``},
}

// Trace is the beginning of a recorded trace in which a few lines are wrong or left out; with work, in the format
// that has it, work is added, also on what is not allocated.
func Trace(r *rand.Rand, file string, work bool) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	log := lines.Text() + "\n"
	kinds := len(wrong) - 2
	if work {
		kinds = len(wrong)
		log = strings.Replace(log, `"version":1`, `"version":2`, 1)
	}
	every := 5 + r.IntN(60)
	for n := 0; n < 150 && lines.Scan(); n++ {
		line := lines.Text()
		if work {
			line = strings.Replace(line, `"op":"capture_begin"`, `"op":"capture_begin","mode":"global"`, 1)
		}
		switch at := r.IntN(every); {
		case at == 0 && !strings.Contains(line, `"id"`):
			continue
		case at < 3:
			change := wrong[r.IntN(kinds)]
			line = change.found.ReplaceAllString(line, change.text)
		case at == 3 && work:
			log += fmt.Sprintf(`{"op":%q,"stream":%d,"reads":[[%d,0,0]],"writes":[[%d,0,0]]}`, []string{"kernel", "copy"}[r.IntN(2)], r.IntN(2), n/3, n/4) + "\n"
		}
		log += line + "\n"
	}
	if r.IntN(2) == 0 {
		log += `{"end":true}` + "\n"
	}
	return strings.ReplaceAll(log, ",}", "}"), lines.Err()
}
