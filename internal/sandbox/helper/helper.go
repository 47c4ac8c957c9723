// Package helper chooses what is executed as the second stage and as the reaper: the program codemode-sandbox, which is
// those two and no more, where one lies beside codemode that is of the same build and as well protected; else codemode.
//
// It looks once per process, and owns the descriptor of the helper that it has chosen for as long as the process lives,
// so that what was looked at is what is executed. It never starts anything, and never chooses what codemode would have
// to trust more than itself. Nobody closes it.
package helper

// Name is the helper's file, in the folder of codemode's own.
const Name = "codemode-sandbox"
