package conformance_test

import (
	"fmt"

	"gaugeblock/conformance"
)

// newBump makes the allocator of bump_test.go, which reuses nothing. In a test one would
// write conformance.Run(t, newBump, conformance.Safe), which fails the test if the level
// is not reached, and logs the whole report.
func ExampleExamine() {
	report, err := conformance.Examine(newBump, conformance.Caching)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("reached:", report.Reached)
	for i := range report.Violations {
		v := &report.Violations[i]
		fmt.Printf("%s is broken, see %s\n", v.Rule.Name, v.Rule.Read)
	}
	fmt.Println("left out:", report.LeftOut)
	// Output:
	// reached: safe
	// ReuseNeedsNoDriver is broken, see conformance/README.md#reuseneedsnodriver
	// SplitsAndCoalesces is broken, see conformance/README.md#splitsandcoalesces
	// WasteIsBounded is broken, see conformance/README.md#wasteisbounded
	// left out: [pools capture checkpoint sharing]
}
