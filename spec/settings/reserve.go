package settings

import (
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// The settings of the address range of expandable segments. A reserve is a fraction of the
// device's memory ("0.5"), or a number of GiB ("40G"). Upstream ignores one that it cannot
// read or that is not above 0, with a warning; here it is refused.

func setReserve(c *spec.Config, s setting, r release) (err error) {
	c.Reserve, err = s.reserve(s.value, r)
	return err
}

// setReserveByClass replaces the reserves of all classes.
func setReserveByClass(c *spec.Config, s setting, r release) error {
	if !s.isList() {
		return s.refuse(s.value, "must be a list, [CLASS:RESERVE,...]")
	}
	c.ReserveByClass = ""
	for _, e := range s.list {
		reserve, err := s.reserve(e.value, r)
		if err != nil {
			return err
		}
		c.ReserveByClass = c.ReserveByClass.With(e.name.text, reserve)
	}
	return nil
}

// reserve reads a reserve.
func (s setting) reserve(t token, r release) (spec.Reserve, error) {
	number, gib := strings.CutSuffix(strings.ToUpper(t.text), "G")
	f, err := setting{key: s.key, value: token{t.kind, number, t.offset}}.number()
	switch {
	case err != nil || f <= 0:
		return spec.Reserve{}, s.refuse(t, "must be a fraction above 0, or a number of GiB with a G behind it")
	case !gib:
		return spec.Reserve{Fraction: f}, nil
	case f*gibibyte(r.Geometry) >= 1<<63:
		return spec.Reserve{Bytes: 1 << 63}, nil // more than all addresses
	}
	return spec.Reserve{Bytes: max(1, uint64(f*gibibyte(r.Geometry)))}, nil
}

func formatReserve(c, _ *spec.Config, r release) string {
	if c.Reserve == (spec.Reserve{}) {
		return ""
	}
	return reserveInWords(c.Reserve, r.Geometry)
}

func formatReserveByClass(c, _ *spec.Config, r release) string {
	var entries []string
	for class, reserve := range c.ReserveByClass.All {
		entries = append(entries, class+":"+reserveInWords(reserve, r.Geometry))
	}
	if entries == nil {
		return ""
	}
	return "[" + strings.Join(entries, ",") + "]"
}

func reserveInWords(r spec.Reserve, g spec.Geometry) string {
	if r.Fraction > 0 {
		return strconv.FormatFloat(r.Fraction, 'g', -1, 64)
	}
	return strconv.FormatFloat(float64(r.Bytes)/gibibyte(g), 'g', -1, 64) + "G"
}

// gibibyte is 1024 of the unit of sizes.
func gibibyte(g spec.Geometry) float64 { return 1024 * float64(g.MiB) }
