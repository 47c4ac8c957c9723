package commands

import "time"

// stampFile tells nothing: times of files can be set, and what no program can set takes opening each.
func stampFile(string) (changed time.Time, stamp string, ok bool) { return time.Time{}, "", false }
