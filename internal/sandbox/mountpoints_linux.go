package sandbox

import (
	"os"
	"strings"
)

// octal are the escapes of mountinfo, proc_pid_mountinfo(5).
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// Mountpoints are where file systems are mounted, and of which kind. Without /proc there are none.
func Mountpoints(yield func(at, kind string) bool) {
	table, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(table)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) >= 5 && len(kind) > 0 && !yield(octal.Replace(fields[4]), kind[0]) {
			return
		}
	}
}
