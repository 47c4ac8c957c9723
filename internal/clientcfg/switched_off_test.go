package clientcfg

import (
	"testing"

	"codemode/internal/config"
)

// TestAmpRulesInDoubt: what codemode cannot judge of a rule is taken to be so where the rule rejects, and not where it
// allows.
func TestAmpRulesInDoubt(t *testing.T) {
	s := config.Server{Command: "npx", Args: []string{"-y", "x"}}
	for rule, want := range map[string]struct{ rejects, allows bool }{
		`{"matches": {"command": "/^(?!npx)/"}}`:          {true, false}, // a look-ahead, which Go's patterns do not have
		`{"matches": {"command": "npx", "signed": true}}`: {true, false},
		`{"matches": {"command": "uvx", "signed": true}}`: {false, false},
		`{}`:                                   {true, false},
		`{"matches": {"command": "npx -y *"}}`: {true, true},
		`{"matches": {"command": "npx", "args": ["*", 3]}}`: {true, true},
		`{"matches": {"url": "*"}}`:                         {false, false},
	} {
		f := &file{client: &Client{}}
		root, _, err := f.parseJSON([]byte(rule))
		if err != nil {
			t.Fatal(err)
		}
		if got := ampRuleFits(root, s, true); got != want.rejects {
			t.Errorf("%s rejects: %v", rule, got)
		}
		if got := ampRuleFits(root, s, false); got != want.allows {
			t.Errorf("%s allows: %v", rule, got)
		}
	}
}
