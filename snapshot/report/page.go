package report

import (
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
)

// The parts of the page. Only the marks in page.html are replaced.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

// Write writes the page. Its security policy allows one script, its own, and no loading.
// If something in the data became markup, it would still do nothing.
func Write(w io.Writer, d *Data) error {
	// encoding/json writes <, > and & as escapes, so nothing in the data ends the element.
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(pageJS))
	_, err = strings.NewReplacer(
		"{{digest}}", base64.StdEncoding.EncodeToString(digest[:]),
		"{{style}}", pageCSS,
		"{{data}}", string(data),
		"{{script}}", pageJS,
	).WriteString(w, pageHTML)
	return err
}
