package errortext

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// Size is a size in bytes as a text has it: rounded, so from Low to High.
type Size struct {
	Low  uint64 `json:"low"`
	High uint64 `json:"high"`
	text string // "" if it was computed
}

// parseSize reads a number and a unit; nil if it is none. The text has it rounded to its
// last digit, or in a summary cut off. PyTorch writes GiB; where somebody has made GB of it, it may
// be either.
func parseSize(number, unit string) *Size {
	if n := len(unit); n == 2 && unit != "by" {
		s := parseSize(number, unit[:1]+"iB")
		if s != nil {
			binary := float64(uint64(1) << (10 * (1 + strings.IndexByte("KMGTPE", unit[0]))))
			decimal := math.Pow(1000, float64(1+strings.IndexByte("KMGTPE", unit[0])))
			s.Low, s.text = uint64(float64(s.Low)*decimal/binary), s.text[:len(s.text)-2]+"B"
		}
		return s
	}
	number = decimalPoint(number)
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 {
		return nil
	}
	scale := map[byte]float64{'K': float64(spec.KiB), 'M': float64(spec.MiB), 'G': float64(spec.GiB), 'T': 1 << 40, 'P': 1 << 50, 'E': 1 << 60}[(unit + " ")[0]]
	if scale == 0 {
		return &Size{uint64(n), uint64(n), spec.FormatSize(uint64(n))}
	}
	digit, below := 1.0, 0.0 // a whole number is cut off
	if _, decimals, has := strings.Cut(number, "."); has {
		digit = math.Pow(10, -float64(len(decimals)))
		below = digit / 2
		digit = below
	}
	most := min((n+digit)*scale, 1<<62)
	return &Size{uint64(max(0, n-below) * min(scale, 1<<62/max(n, 1))), uint64(most), number + " " + unit}
}

// decimalPoint writes a number that a locale or a translation has changed as PyTorch does: 7,65 and
// 1,024.00. One like 1,024, of which it is open what it is, stays, and is no number.
func decimalPoint(number string) string {
	comma, point := strings.LastIndexByte(number, ','), strings.LastIndexByte(number, '.')
	switch {
	case comma < 0:
	case point > comma:
		return strings.ReplaceAll(number, ",", "")
	case point >= 0, strings.Count(number, ",") == 1 && len(number)-comma != 4:
		return strings.ReplaceAll(strings.ReplaceAll(number, ".", ""), ",", ".")
	}
	return number
}

// String is a size as the text has it, or the middle of its range with its precision.
func (s *Size) String() string {
	if s.text != "" {
		return s.text
	}
	if s.Low == 0 && s.High < 10*spec.MiB && s.High > 0 {
		return "at most " + spec.FormatSize(s.High)
	}
	if s.Low == 0 && s.High > 0 {
		return fmt.Sprintf("at most %.2f GiB", math.Ceil(float64(s.High)/float64(spec.GiB)*100)/100)
	}
	if s.High-s.Low < spec.MiB {
		return spec.FormatSize(s.Low + (s.High-s.Low)/2)
	}
	return fmt.Sprintf("%.2f GiB (to within %s)", float64(s.Low/2+s.High/2)/float64(spec.GiB), spec.FormatSize((s.High-s.Low+1)/2))
}

func sum(list ...*Size) *Size {
	var s *Size
	for _, n := range list {
		if n == nil {
			continue
		}
		if s == nil {
			s = &Size{}
		}
		s.Low, s.High = s.Low+n.Low, s.High+n.High
	}
	return s
}

// difference is a size less another, at least 0; nil if one is not known.
func difference(a, b *Size) *Size {
	if a == nil || b == nil {
		return nil
	}
	return &Size{Low: a.Low - min(a.Low, b.High), High: a.High - min(a.High, b.Low)}
}

// above reports whether a size is larger than another for sure.
func above(a, b *Size) bool { return a != nil && b != nil && a.Low > b.High }

func high(s *Size) uint64 {
	if s == nil {
		return 0
	}
	return s.High
}

func low(s *Size) uint64 {
	if s == nil {
		return 0
	}
	return s.Low
}
