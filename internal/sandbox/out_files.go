package sandbox

import (
	"errors"
	"fmt"
	"io"
)

// OutDir is where a guest leaves what is to be kept, where Spec.Out is set. It is empty when the guest starts.
const OutDir = WorkDir + "/" + outName

const outName = "out"

// An OutFile is a file that a guest has left in OutDir. Everything about it is the guest's word.
type OutFile struct {
	Name    string    // below OutDir; of any bytes, but a local path: see filepath.IsLocal
	Size    int64     // of its content
	Content io.Reader // of at least so many bytes, unless somebody takes away from it meanwhile; nil where Err is set
	Err     error     // why it cannot be kept

	// Stamp is another when the file has changed. A caller that looks through OutDir again says by it what it knows.
	Stamp string
}

// OutFileStamp is the stamp of a file, by its last change in nanoseconds, as the sandbox's clock has it, and its size.
func OutFileStamp(changed, size int64) string { return fmt.Sprintf("%d-%d", changed, size) }

// Why something in OutDir cannot be kept.
var (
	ErrNotRegular = errors.New("it is no regular file")
	ErrTooDeep    = errors.New("its folders are too deep")
)

// maxOutDepth is how deep folders in OutDir are looked through.
const maxOutDepth = 32
