//go:build !cgo || !linux

package host

func (p *Process) answer(*request) answer { return answer{Result: notSupported} }
