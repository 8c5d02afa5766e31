package gpu

import (
	"os"
	"strconv"
	"testing"
	"time"

	"gaugeblock/fakegpu"
	"gaugeblock/tests/conformance"
	"gaugeblock/tests/reference"
	"gaugeblock/tests/replay"
)

// How much of each area is run: so many operations, or for so long. In all areas together
// GAUGEBLOCK_OPERATIONS says how many.
const (
	conformanceOperations = 2000
	conformanceLength     = 150 // of a program
	conformancePatience   = 30 * time.Second
)

func operations(t *testing.T) int {
	text := os.Getenv("GAUGEBLOCK_OPERATIONS")
	if text == "" {
		return conformanceOperations
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n / len(conformance.Areas())
}

// TestConformance runs programs of every area of the conformance suite through the
// reference on a device that shadows the fake one (shadow_test.go). The shadow of one fake
// device on another shows that the shadow itself does as it should.
func TestConformance(t *testing.T) {
	for _, area := range conformance.Areas() {
		t.Run(area.Name, func(t *testing.T) {
			if area.Name == "sharing" {
				note(t)
				t.Skip("its programs share memory between two processes of the fake device; TestProcesses does so with real ones")
			}
			onBoth(t, func(l *lab) {
				if n := l.DeviceCount(); n < area.Devices {
					l.Skipf("the machine has %d devices, %d are needed", n, area.Devices)
				}
				shadowArea(l.T, area, l.device)
			})
		})
	}
}

func shadowArea(t *testing.T, area *conformance.Area, on device) {
	checked, calls, programs, void := 0, 0, 0, []string{}
	wanted := operations(t)
	for began := time.Now(); checked < wanted && time.Since(began) < conformancePatience; programs++ {
		var s *shadow
		result := area.Run(uint64(programs+1), conformanceLength, conformance.Options{
			New: reference.New, Every: 16,
			Around: func(fake *fakegpu.GPU) replay.Device {
				s = newShadow(fake, on)
				return s
			},
		})
		s.end()
		checked, calls = checked+result.Checked, calls+s.calls
		if s.void != "" {
			void = append(void, s.void)
		}
		if result.Failure != nil {
			t.Fatal(result.Failure)
		}
		if s.differs != nil {
			t.Fatalf("program %d, after %d operations: %v", programs+1, result.Checked, s.differs)
		}
	}
	t.Logf("%d operations in %d programs, %d calls of the real device", checked, programs, calls)
	if len(void) > 0 {
		t.Logf("%d programs were given up, for the real device waited for streams that were held, in %q", len(void), void)
	}
	if 2*len(void) > programs {
		t.Error("most programs were given up")
	}
}

// TestShadowBites: a device that says of every event that it is complete is told apart.
func TestShadowBites(t *testing.T) {
	note(t)
	area := conformance.Find("core")
	for seed := uint64(1); seed < 50; seed++ {
		var s *shadow
		area.Run(seed, conformanceLength, conformance.Options{New: reference.New, Around: func(fake *fakegpu.GPU) replay.Device {
			s = newShadow(fake, hasty{newFake()})
			return s
		}})
		if s.end(); s.differs != nil {
			t.Logf("found in program %d: %v", seed, s.differs)
			return
		}
	}
	t.Error("no difference was found")
}
