// Package affinity has codemode, a guest and perhaps a server share one processor for a while.
//
// It owns which processors the threads of all of them may use meanwhile, and gives each back what it had. It never says
// when that is worth it, and never touches who may not use all processors already. Whoever calls Share releases it.
package affinity
