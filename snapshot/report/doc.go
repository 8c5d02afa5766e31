// Package report draws a memory snapshot of PyTorch as one page to look at: what was
// given out and held over time, what lies where at the peak and at the end, what keeps
// segments from being returned, and whether other settings would have helped.
//
//	snapshot.File ──▶ Build ──▶ Data ──▶ Write ──▶ one HTML file
//	whatif.Study ─────────────┘       │
//	                                  └─ everything that the page says, as JSON
//
// Data is small however long the history is: the curve is cut to as many buckets as a
// page has pixels (curve.go), the pictures show blocks only as long as they can be told
// apart (moment.go), call stacks are kept once (stacks.go).
//
// The page (page.go and page/) loads nothing and sends nothing. What comes from the
// snapshot is a stranger's: names of files and functions may be made up to do harm. It
// goes into the page as JSON in which no character has a meaning to HTML, and from there
// into text, never into markup.
package report
