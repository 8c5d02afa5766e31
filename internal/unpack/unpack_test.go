package unpack_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"gaugeblock/internal/unpack"
)

const content = `{"segments":[]}`

// zipped is an archive of files, each with its name before its content.
func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, files[i+1])
	}
	w.Close()
	return out.String()
}

// linked is an archive with a symbolic link to a snapshot beside its one file.
func linked(t *testing.T, archive string) string {
	t.Helper()
	in, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	link := &zip.FileHeader{Name: "latest.pickle"}
	link.SetMode(fs.ModeSymlink | 0o777)
	f, err := w.CreateHeader(link)
	if err == nil {
		_, err = io.WriteString(f, in.File[0].Name)
	}
	if err = errors.Join(err, w.Copy(in.File[0]), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	io.WriteString(w, text)
	w.Close()
	return out.String()
}

// TestLayers: what is inside is read, whatever it is packed in.
func TestLayers(t *testing.T) {
	xz, err := base64.StdEncoding.DecodeString(xzContent)
	if err != nil {
		t.Fatal(err)
	}
	page := "\n<!DOCTYPE html>\n<script>\nconst local_files = " +
		`[{"name": "snapshot.pickle", "base64": "` + base64.StdEncoding.EncodeToString([]byte(content)) + `"}]` + "\n</script>"
	for name, file := range map[string]string{
		"plain":               content,
		"gzip":                gzipped(content),
		"xz":                  string(xz),
		"gzip in gzip":        gzipped(gzipped(content)),
		"zip":                 zipped(t, "a/b/snapshot.pickle", content),
		"zip of a Mac":        zipped(t, "s.pickle", content, "__MACOSX/._s.pickle", "x", ".DS_Store", "y"),
		"zip with a link":     linked(t, zipped(t, "s.pickle", content)),
		"zip with folders":    zipped(t, "runs/", "", "runs/s.pickle", content),
		"zip with a log":      zipped(t, "readme.txt", "hello", "s.pickle.gz", gzipped(content)),
		"zip of torch.save":   zipped(t, "archive/data.pkl", content, "archive/version", "3\n"),
		"page of memory_viz":  page,
		"page, in a zip":      zipped(t, "plot.html", page),
		"page in lower case":  strings.Replace(page, "DOCTYPE", "doctype", 1),
		"page with more":      strings.Replace(page, "const", `"base6 "base64 const`, 1),
		"page with others":    strings.Replace(page, `"base64":`, `xbase64": "!!", ""base64":`, 1),
		"zip with hidden":     zipped(t, "s.pickle", content, ".s.pickle", "x", "__MACOSX/t.pickle", "y"),
		"page without spaces": strings.Replace(page, `": "`, `":"`, -1),
	} {
		in, err := unpack.Open(strings.NewReader(file), 1<<20)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(in); string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// xzContent is what xz -9 makes of the content.
const xzContent = "/Td6WFoAAATm1rRGAgAhARwAAAAQz1jMAQAOeyJzZWdtZW50cyI6W119AABeL5gIjcJiIAABJw/fGvxqH7bzfQEAAAAABFla"

// TestRefused: what cannot be read, or does not tell what is meant, says so.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ file, message string }{
		"two snapshots":   {zipped(t, "rank0.pickle", content, "rank1.pickle", content), "the zip archive has 2 files that may be meant"},
		"nothing":         {zipped(t, "folder/", ""), "the zip archive has 0 files that may be meant"},
		"too large":       {zipped(t, "s.pickle", strings.Repeat(content, 1<<12)) + strings.Repeat(" ", 1<<16), "--max-memory"},
		"cut off":         {zipped(t, "s.pickle", content)[:40], "the zip archive is damaged"},
		"a page":          {"<!doctype html><p>hello", "this is a page without the snapshot"},
		"a page, cut off": {`<html>"base64": `, "the snapshot in the page is cut off"},
	} {
		if _, err := unpack.Open(strings.NewReader(c.file), 1<<16); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
	const damaged = "the snapshot in the page is damaged: no base64 at byte "
	for what, c := range map[string]struct{ file, got, says string }{
		"cut off":              {"QUJDR", "ABC", io.ErrUnexpectedEOF.Error()},
		"not its letters":      {`QUJDQ!JD"`, "ABC", damaged + "22 of the page"},
		"an end in the middle": {`QQ==QUJD"`, "A", damaged + "21 of the page"},
		"no end":               {`QUJDQ"`, "ABC", damaged + "21 of the page"},
		"far behind":           {strings.Repeat("QUJD", 2000) + `QUJ"`, strings.Repeat("ABC", 2000), damaged + "8017 of the page"},
	} {
		in, err := unpack.Open(strings.NewReader(`<html>"base64": "`+c.file), 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); string(got) != c.got || err == nil || err.Error() != c.says {
			t.Errorf("%s: %.50q, %v", what, got, err)
		}
	}
}
