package report

import (
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
)

// The page's parts. Only the marks in page.html are replaced.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

// Write writes the page. It lets the browser run one script, its own, and load nothing:
// should something in the data ever become markup, it would still do nothing.
func Write(w io.Writer, d *Data) error {
	// The package json writes <, > and & as escapes, so nothing in it ends the element.
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
