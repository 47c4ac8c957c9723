// Package affinity has codemode and a guest share one processor for a while.
//
// It owns which processors the threads of both may use meanwhile, and gives each back what it had. It never says when
// that is worth it, and never touches who may not use all processors already. Whoever calls Share releases it.
package affinity

import "errors"

// Errors of Share.
var (
	errRestricted = errors.New("codemode may not use all processors of the machine, or there is one alone")
	errShared     = errors.New("codemode shares a processor with another guest")
	errNotHere    = errors.New("not on this system")
)
