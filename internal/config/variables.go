package config

import (
	"slices"
	"strings"
)

// The variables of codemode, and those that the Python original had, begin so.
const (
	ownPrefix   = "CODEMODE_"
	olderPrefix = "MCP_BRIDGE_"
)

// others are the variables that are read elsewhere, or of a process that codemode starts.
var others = []string{ownPrefix + "CONFIG", ownPrefix + "DEPTH", ownPrefix + "REQUIRE"}

// UnknownVariables finds the variables of an environment, of the form NAME=VALUE, that are named like
// codemode's and are none: most likely misspelt ones. Those of its tests are left alone.
func UnknownVariables(environ []string) (unknown []*UnknownVariableError) {
	known, older := slices.Clone(others), []string{}
	for _, k := range keys {
		known = append(known, k.variables()[0])
		older = append(older, k.older...)
	}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" {
			continue // as if it were not set
		}
		if strings.HasPrefix(name, ownPrefix) && !strings.HasPrefix(name, ownPrefix+"TEST_") &&
			!slices.Contains(known, name) {
			unknown = append(unknown, &UnknownVariableError{name, known[len(others):]})
		}
		if strings.HasPrefix(name, olderPrefix) && !slices.Contains(older, name) {
			unknown = append(unknown, &UnknownVariableError{name, older})
		}
	}
	return unknown
}
