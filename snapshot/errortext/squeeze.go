package errortext

import (
	"regexp"
	"strings"
	"unicode/utf16"
)

// Decode is a text of bytes: one of UTF-16 with its mark, as PowerShell writes it, or of UTF-8.
func Decode(raw []byte) string {
	if len(raw) < 2 || (raw[0] != 0xff || raw[1] != 0xfe) && (raw[0] != 0xfe || raw[1] != 0xff) {
		return string(raw)
	}
	first, second := 0, 1 // the low and the high byte
	if raw[0] == 0xfe {
		first, second = 1, 0
	}
	units := make([]uint16, 0, len(raw)/2)
	for i := 2; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i+first])|uint16(raw[i+second])<<8)
	}
	return string(utf16.Decode(units))
}

var (
	colour     = regexp.MustCompile(`^(?:\x1b|\\+u001[bB]|\\+x1[bB]|\\+033|\^\[)\[[0-9;?]*[A-Za-z]`)
	quoted     = regexp.MustCompile(`^\n[ \t]*(?:>[> \t]*)?`) // a line of an answer in Markdown or mail
	tag        = regexp.MustCompile(`^</?(?:br|p|pre|code|span|div|b|td|tr)\b[^<>\n]{0,200}>`)
	rankPrefix = regexp.MustCompile(`^\[(?:rank)?\d+\]:`)
)

// squeeze leaves out what logs, terminals and notebooks put between the words of a message:
// white space, colours, escapes of JSON, the borders of boxes, marks of quotations, tags of HTML, and
// the prefixes of ranks.
func squeeze(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if n := skipped(text[i:]); n > 0 {
			i += n
			continue
		}
		out = append(out, text[i])
		i++
	}
	return string(out)
}

// skipped is how many bytes at the beginning of a text are left out.
func skipped(text string) int {
	switch c := text[0]; {
	case c == '\n':
		return len(quoted.FindString(text))
	case c <= ' ' && c != 0x1b:
		return 1
	case c == '<':
		return len(tag.FindString(text))
	case c == '&' && strings.HasPrefix(text, "&nbsp;"):
		return len("&nbsp;")
	case c == 0x1b, c == '^':
		return len(colour.FindString(text))
	case c == '\\':
		if n := len(colour.FindString(text)); n > 0 {
			return n
		}
		rest := strings.TrimLeft(text, `\`)
		if rest != "" && strings.ContainsRune("nrt", rune(rest[0])) {
			return len(text) - len(rest) + 1
		}
	case c == '[':
		return len(rankPrefix.FindString(text))
	case c == 0xc2 && strings.HasPrefix(text, "\u00a0"):
		return 2
	case c == 0xe2 && len(text) >= 3 && (text[1] == 0x94 || text[1] == 0x95): // U+2500 to U+257F
		return 3
	}
	return 0
}

// sharesMemory are names of systems on which the driver may lend memory of the host, or shares it.
var sharesMemory = regexp.MustCompile(`microsoft-standard-WSL|WSL2|NvMapMem|NvMapHandle|-tegra\b`)

var windowsPath = regexp.MustCompile(`(?:^|[^A-Za-z])[A-Z]:\\+(?:Users|Program|Windows|Python|[A-Za-z0-9_. -]+\\)`)

// noExpandable is why a program cannot use expandable segments, as far as its log tells.
func noExpandable(text string) (why string, windows bool) {
	if windowsPath.MatchString(text) {
		return "the program runs on Windows", true
	}
	for _, m := range []struct{ part, why string }{
		{"CuMemAllocator", "CuMemAllocator"}, {"device_allocator/cumem", "CuMemAllocator"}, {"deep_ep/", "DeepEP"}, {"libnvshmem", "NVSHMEM"}, {"nvshmem_malloc", "NVSHMEM"},
		{"rebuild_cuda_tensor", "tensors shared by CUDA IPC"},
	} {
		if strings.Contains(text, m.part) {
			return "the text has " + m.why, false
		}
	}
	return "", false
}
