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

// generator is in the first lines of every page.
const generator = `<meta name="generator" content="gaugeblock report">`

// shownReport is a report whose states are packed.
type shownReport struct {
	*Data
	States packedStates `json:"states"`
}

// Write writes the page. Its security policy allows one script, its own, and no loading.
// If something in the data became markup, it would still do nothing.
func Write(w io.Writer, p *Page) error {
	shown := struct {
		Page
		Reports []shownReport `json:"reports"`
	}{Page: *p, Reports: []shownReport{}}
	shown.Source, shown.Notes = shorten(p.Source), []string{}
	for _, note := range p.Notes {
		shown.Notes = append(shown.Notes, shortenEnd(note, maxNote))
	}
	for _, d := range p.Reports {
		packed := d.packed
		if packed == nil {
			states := d.States.pack(maxPackedBytes / len(p.Reports))
			packed = &states
		}
		shown.Reports = append(shown.Reports, shownReport{d, *packed})
	}
	// encoding/json writes <, > and & as escapes, so nothing in the data ends the element.
	data, err := json.Marshal(&shown)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(pageJS))
	_, err = strings.NewReplacer(
		"{{generator}}", generator,
		"{{digest}}", base64.StdEncoding.EncodeToString(digest[:]),
		"{{style}}", pageCSS,
		"{{data}}", string(data),
		"{{script}}", pageJS,
	).WriteString(w, pageHTML)
	return err
}
