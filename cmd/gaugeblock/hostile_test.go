package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// hostileText has what a terminal or a page could obey, and begins a line of its own. What
// it says in each place is different.
const hostileText = "\x1b[31mred\x1b]0;title\x07\u009b2J\u202eltr\u2066\u200b\ufeff</script><img src=x onerror=alert(1)>\r\nFORGED: exact\x7f"

// hostileFiles are a trace, a log and a snapshot whose every string is hostile.
func hostileFiles(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	quoted, err := json.Marshal(hostileText)
	if err != nil {
		t.Fatal(err)
	}
	h := string(quoted)
	header := `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,7]`
	var files []string
	write := func(name, format string) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(format, "HOSTILE", h)), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	write("header.jsonl", header+`,"source":HOSTILE,"device":HOSTILE,"family":HOSTILE,"stat_columns":[HOSTILE]}
{"op":"malloc","id":0,"size":10,"addr":4096,"stats":[1]}
{"end":true,"stats":{HOSTILE:1}}
`)
	write("column.jsonl", header+`,"stat_columns":[HOSTILE]}
{"op":"malloc","id":0,"size":10,"stats":[1]}
{"end":true,"stats":{HOSTILE:1}}
`)
	write("torch.jsonl", header+`,"source":"torch HOSTILE","device":HOSTILE,"stat_columns":["allocation.all.current"]}
{"op":"malloc","id":0,"size":10,"stats":[1]}
`)
	write("settings.jsonl", header+`,"settings":HOSTILE}
{"end":true}
`)
	write("format.jsonl", `{"format":HOSTILE,"version":2}`)
	write("op.jsonl", header+`}
{"op":HOSTILE,"id":0}
`)
	write("field.jsonl", header+`}
{"op":"malloc","id":0,"size":10,HOSTILE:1}
`)
	write("value.jsonl", header+`}
{"op":"malloc","id":HOSTILE,"size":10}
`)
	write("error.jsonl", header+`}
{"op":"malloc","id":0,"size":10,"error":HOSTILE,"message":HOSTILE}
`)
	write("message.jsonl", header+`}
{"op":"malloc","id":0,"size":10737418240,"error":"oom","message":HOSTILE}
{"op":"set_settings","settings":HOSTILE}
`)
	frames := `"frames":[{"filename":HOSTILE,"line":7,"name":HOSTILE}]`
	more := frames + `,"compile_context":HOSTILE,"user_metadata":HOSTILE`
	write("snapshot.json", `{"segments":[{"device":0,"address":1099511627776,"total_size":20971520,"allocated_size":15728640,"active_size":15728640,
"stream":0,"segment_type":"large",`+frames+`,"blocks":[{"address":1099511627776,"size":15728640,"requested_size":15728640,"state":"active_allocated",`+frames+`},
{"address":1099527356416,"size":5242880,"requested_size":0,"state":"inactive","frames":[]}]}],
"device_traces":[[{"action":"segment_alloc","addr":1099511627776,"size":20971520,"stream":0,"time_us":1000,`+more+`},
{"action":"alloc","addr":1099511627776,"size":15728640,"stream":0,"time_us":1001,`+more+`},
{"action":HOSTILE,"addr":1,"size":2,"stream":0,"time_us":1001,`+more+`},
{"action":"oom","device_free":1048576,"size":15728640,"stream":0,"time_us":1002,`+more+`}]],
"external_annotations":[{"name":HOSTILE,"stage":"START","device":0,"time_us":1000},{"name":HOSTILE,"stage":"END","device":0,"time_us":1002}],
"allocator_settings":{"PYTORCH_ALLOC_CONF":HOSTILE}}`)
	write("type.json", `{"segments":[{"device":0,"address":0,"total_size":0,"segment_type":HOSTILE,"blocks":[]}]}`)
	write("state.json", `{"segments":[{"device":0,"address":0,"total_size":512,"segment_type":"large","blocks":[{"size":512,"state":HOSTILE}]}]}`)
	write("log.csv", "Thread,Time,Action,Pointer,Size,Stream\n0,1,HOSTILE,0x1,10,0\n")
	write("head.csv", "HOSTILE,HOSTILE\n1,2\n")
	write("text.csv", "Thread,Time,Action,Pointer,Size,Stream\nHOSTILE,HOSTILE,allocate,HOSTILE,10,HOSTILE\n")
	write(strings.ReplaceAll(hostileText, "/", "_")+".jsonl", header+"}\n{\"op\":\"free\",\"id\":3}\n")
	return files
}

// TestHostileStrings: whatever a file says, no command prints a character that a terminal
// obeys, nor a line that the file made up.
func TestHostileStrings(t *testing.T) {
	files := hostileFiles(t)
	folder := filepath.Dir(files[0])
	printed := map[string]bool{}
	check := func(args []string) {
		var stdout, stderr bytes.Buffer
		run(args, strings.NewReader(""), &stdout, &stderr)
		for _, output := range []string{stdout.String(), stderr.String()} {
			if i := strings.IndexFunc(output, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("%q prints %q", args, output[i:min(i+40, len(output))])
			}
			for line := range strings.Lines(output) {
				if strings.HasPrefix(strings.TrimSpace(line), "FORGED") {
					t.Errorf("%q prints a line of the file: %q", args, line)
				}
			}
			if strings.Contains(output, `u001b[31mred`) || strings.Contains(output, `x1b[31mred`) {
				printed[args[0]] = true
			}
		}
	}
	for _, file := range files {
		for _, args := range [][]string{
			{"replay"}, {"replay", "-vv"}, {"replay", "--json"}, {"check"}, {"check", "--json"}, {"check", "--reference"},
			{"whatif"}, {"whatif", "--json"}, {"whatif", "--settings", ""}, {"report", "-o", "-"}, {"report", "--device", "9", "-o", "-"},
		} {
			check(append(args, file))
		}
	}
	check([]string{"replay", folder})
	check([]string{"report", folder, "-o", "-"})
	check([]string{"report", files[10], files[10], "-o", "-"})
	for _, args := range [][]string{
		{"whatif", files[10], "--settings", hostileText}, {"whatif", hostileText}, {"report", hostileText}, {"report", files[10], "-o", "/nowhere/" + hostileText},
		{"replay", hostileText}, {"check", hostileText}, {"explore", hostileText}, {hostileText}, {"soak", "--area", hostileText}, {"soak", "--settings", hostileText},
		{"torch", "--settings", hostileText}, {"torch", "--torch", "/" + hostileText}, {"whatif", files[10], "--limit", hostileText}, {"completion", hostileText},
		{"examine", "--level", hostileText, "x.so"}, {"replay", "--" + hostileText}, {"record", hostileText}, {"version", hostileText},
	} {
		check(args)
	}
	for _, command := range []string{"replay", "check", "whatif", "report", "explore", "soak", "torch"} {
		if !printed[command] {
			t.Errorf("%s never prints the text: the test shows nothing of it", command)
		}
	}
}

// TestHostilePage: nothing of a file is markup on the page.
func TestHostilePage(t *testing.T) {
	files := hostileFiles(t)
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", files[10], "-o", "-"}, strings.NewReader(""), &stdout, &stderr); status != statusExact {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	page := stdout.String()
	for _, markup := range []string{"<img", "</script><", "onerror=alert(1)>"} {
		if strings.Contains(page, markup) {
			t.Errorf("%s is in the page", markup)
		}
	}
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("the page has %d scripts", n)
	}
	if !strings.Contains(page, `\\u001b[31mred`) {
		t.Error("the text is not in the page at all")
	}
}
