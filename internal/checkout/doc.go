// Package checkout finds this project's own files, for what runs in a checkout of it: its
// root, and the traces that were recorded from PyTorch.
package checkout
