package config

import "testing"

// TestCost bounds what settings cost where there are none, which each start pays: a layer that sets nothing is not
// merged. With all of them merged it was 6,900 objects.
func TestCost(t *testing.T) {
	objects := testing.AllocsPerRun(20, func() {
		if _, err := Load(Source{}); err != nil {
			t.Fatal(err)
		}
	})
	if objects > 5500 {
		t.Errorf("settings that nobody has set take %v objects", objects)
	}
}
