package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// staleAfter is the age of a folder of decoys that nobody uses any more.
const staleAfter = time.Hour

// sweep removes what a codemode left that was killed: no process ends these for it. What cannot be removed is
// somebody else's.
func sweep() {
	folders, _ := filepath.Glob(filepath.Join(base(), folderPrefix+"*"))
	for _, dir := range folders {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(dir)
		}
	}
	table, _ := os.ReadFile("/proc/sysvipc/shm")
	for line := range strings.Lines(string(table)) {
		if id, stale := staleSegment(line); stale {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	}
}

// staleSegment reads a line of the system's table of segments, which has the creator as 0 where that is in another
// namespace of processes.
func staleSegment(line string) (id int, stale bool) {
	var key, mode, size, creator int
	if n, _ := fmt.Sscan(line, &key, &id, &mode, &size, &creator); n < 5 || creator <= 0 {
		return 0, false
	}
	ours := key&^0xffff == segmentPrefix && key&0xffff == creator&0xffff && size == segmentSize
	return id, ours && errors.Is(unix.Kill(creator, 0), unix.ESRCH)
}
