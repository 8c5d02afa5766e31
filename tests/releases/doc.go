// Package releases holds the rules in which releases of PyTorch differ: each is implemented
// where it has to be, and each of its values is that of a release.
package releases
