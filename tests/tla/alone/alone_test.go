package alone

import (
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/model/explore"
)

func TestCore(t *testing.T) { holds(t, Configurations.Core) }

func TestExpandable(t *testing.T) { holds(t, Configurations.Expandable) }

func TestPools(t *testing.T) { holds(t, Configurations.Pools) }

func TestMarks(t *testing.T) { holds(t, Configurations.Marks) }

func TestCaptures(t *testing.T) { holds(t, Configurations.Captures) }

func TestPages(t *testing.T) { holds(t, Configurations.Pages) }

func TestCheckpoints(t *testing.T) { holds(t, Configurations.Checkpoints) }

func TestTwoStep(t *testing.T) { holds(t, Configurations.TwoStep) }

func TestSettings(t *testing.T) { holds(t, Configurations.Settings) }

func TestFaults(t *testing.T) { holds(t, Configurations.Faults) }

func TestPoolFaults(t *testing.T) { holds(t, Configurations.PoolFaults) }

// holds explores configurations. All properties that can be checked are, the first that fails is told.
func holds(t *testing.T, configurations []string) {
	for i, text := range configurations {
		if allrows.Without(i, 3) {
			continue
		}
		t.Run(strings.ReplaceAll(text, " ", "_"), func(t *testing.T) {
			check, err := Open(text)
			if err != nil {
				t.Fatal(err)
			}
			check.Options.Workers = 1
			if v := explore.Explore(check.Module, check.Options).Violation; v != nil {
				t.Run(v.Property, func(t *testing.T) {
					for _, step := range v.Trace {
						t.Log(step.Label)
					}
					t.Fail()
				})
			}
		})
	}
}
