package packages

import (
	"fmt"
	"slices"

	"codemode/internal/hint"
)

// Sums are the hashes, SHA-256, that a file has of wheels, by the normal name of their package.
type Sums struct {
	File string
	Of   map[string][]string
}

// check refuses a wheel of a package that has hashes, and is none of these. from is where it is.
func (s Sums) check(l *Lock, from string) error {
	for _, found := range l.Packages {
		allowed, there := s.Of[Normal(found.Name)]
		if sum := found.Wheel().Hashes["sha256"]; there && !slices.Contains(allowed, sum) {
			return hint.New(
				fmt.Sprintf("%s has the SHA-256 %s at %s, and %q names others; nothing was added",
					found.Wheel().Name, sum, from, s.File),
				"one of the two gives out another file than was meant: ask who made the file, and who runs the index",
			)
		}
	}
	return nil
}
