// Package foreign builds allocators of other projects, unmodified, against the fake GPU's
// libraries, so that the kit can examine them. A recipe is a line of recipes.txt and a
// folder: declarations, an adaptor and a build script of this project's own. The sources of
// the other project are a checkout beside it; nothing of them is here.
package foreign
