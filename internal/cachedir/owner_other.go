//go:build !unix

package cachedir

import "io/fs"

// othersWrite is nothing where permissions are not in a file's mode.
const othersWrite fs.FileMode = 0

// Owner is the user that a file belongs to, where files belong to users.
func Owner(fs.FileInfo) (uid int, ok bool) { return 0, false }
