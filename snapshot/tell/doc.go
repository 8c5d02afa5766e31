// Package tell says what a comparison came to: in English, as a table, and as JSON. All
// sentences of what-if are here.
package tell
