// Package report shows a memory snapshot of PyTorch as one HTML page: allocated and
// reserved memory over time, the segments and blocks at the peak and at the end, which
// code allocated the blocks that keep segments from being freed, and whether other
// allocator settings would have helped.
//
//	snapshot.File ──────▶ Build ──▶ Data ──▶ Write, WriteFile ──▶ one HTML file
//	compare.Comparison ──────┘        │
//	                                 └─ everything that the page shows, as JSON
//
// Data is small for every history: the timeline has as many buckets as a page has pixels
// (timeline.go), blocks too small to be seen are merged (layout.go), and each call stack
// is there once (stacks.go).
//
// The page (page.go and page/) loads nothing and sends nothing. The names of files and
// functions in a snapshot may be made up to do harm. They are in the page as JSON in which
// no character has a meaning to HTML, and are shown as text, never as markup.
package report
