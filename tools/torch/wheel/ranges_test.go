package wheel

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRanges: what is read is the file, each block is fetched once, and what a server does wrong is said.
func TestRanges(t *testing.T) {
	content := make([]byte, 2*blockBytes+100)
	for i := range content {
		content[i] = byte(i % 251)
	}
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.Header.Get("Range")]++
		switch r.URL.Path {
		case "/whole":
			w.WriteHeader(http.StatusOK)
		case "/no-length":
			w.WriteHeader(http.StatusPartialContent)
		case "/short": // the first answer is good
			if r.Header.Get("Range") != "bytes=0-0" {
				w.WriteHeader(http.StatusPartialContent)
				return
			}
			fallthrough
		default:
			http.ServeContent(w, r, "a.whl", time.Time{}, bytes.NewReader(content))
		}
	}))
	defer server.Close()
	open := func(path string) (*ranges, error) { return newRanges(context.Background(), server.URL+path) }

	r, err := open("/good")
	if err != nil || r.size != int64(len(content)) {
		t.Fatalf("%+v, %v", r, err)
	}
	for range 2 {
		got, err := io.ReadAll(io.NewSectionReader(r, 5, r.size-5))
		if err != nil || !bytes.Equal(got, content[5:]) {
			t.Errorf("%d bytes are read of %d: %v", len(got), len(content)-5, err)
		}
	}
	if n, err := r.ReadAt(make([]byte, 10), r.size-3); n != 3 || err != io.EOF {
		t.Errorf("at the end %d bytes are read, %v", n, err)
	}
	if len(asked) != 4 {
		t.Errorf("it was asked for %v", asked)
	}
	for part, times := range asked {
		if times != 1 {
			t.Errorf("%s was fetched %d times", part, times)
		}
	}
	for path, want := range map[string]string{"/whole": "does not serve parts of the wheel: 200 OK", "/no-length": "does not say how long the wheel is"} {
		if _, err := open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if r, err = open("/short"); err != nil {
		t.Fatal(err)
	}
	if n, err := r.ReadAt(make([]byte, 10), 0); n != 0 || err == nil || !strings.Contains(err.Error(), "a part of the wheel") {
		t.Errorf("a part without bytes: %d, %v", n, err)
	}
	for url, want := range map[string]string{"file:///a.whl": `"file:///a.whl" is not read over HTTP`, "http://a b/": "invalid character", "https://127.0.0.1:9/": "dial tcp"} {
		if _, err := newRanges(context.Background(), url); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if r, err = open("/gone"); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if n, err := r.ReadAt(make([]byte, 10), 0); n != 0 || err == nil || !strings.Contains(err.Error(), "dial tcp") {
		t.Errorf("the server has ended: %d, %v", n, err)
	}
}
