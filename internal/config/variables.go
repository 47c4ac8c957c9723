package config

import (
	"slices"
	"strings"
)

const ownPrefix = "CODEMODE_"

// others are the variables that are read elsewhere, or of a process that codemode starts.
var others = []string{ownPrefix + "CONFIG", ownPrefix + "DEPTH", ownPrefix + "REQUIRE"}

// UnknownVariables finds the variables of an environment, of the form NAME=VALUE, that are named like
// codemode's and are none: most likely misspelt ones. Those of its tests are left alone.
func UnknownVariables(environ []string) (unknown []*UnknownVariableError) {
	known := slices.Clone(others)
	for _, k := range keys {
		known = append(known, k.variables()[0])
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, ownPrefix) && !strings.HasPrefix(name, ownPrefix+"TEST_") && !slices.Contains(known, name) {
			unknown = append(unknown, &UnknownVariableError{name, known[len(others):]})
		}
	}
	return unknown
}
