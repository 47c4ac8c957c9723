// Package lazyregexp compiles regular expressions when they are first used: a command that is over in some milliseconds
// uses few of them. It owns nothing, never fails later than a test would have, and there is nothing to close.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// New returns what compiles expr once. It panics where that is not possible, in tests at once.
func New(expr string) func() *regexp.Regexp {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test") {
		re()
	}
	return re
}
