package sandbox

import (
	"errors"
	"io"
)

// OutDir is where a guest leaves what is to be kept, where Spec.Out is set. It is empty when the guest starts.
const OutDir = WorkDir + "/" + outName

const outName = "out"

// A LeftFile is a file that a guest has left in OutDir. Everything about it is the guest's word.
type LeftFile struct {
	Name    string    // below OutDir; of any bytes, but a local path: see filepath.IsLocal
	Size    int64     // of its content
	Content io.Reader // of at least so many bytes, unless somebody takes away from it meanwhile; nil where Err is set
	Err     error     // why it cannot be kept
}

// Why something in OutDir cannot be kept.
var (
	ErrNotRegular = errors.New("it is no regular file")
	ErrTooDeep    = errors.New("its folders are too deep")
)

// maxLeftDepth is how deep folders in OutDir are looked through.
const maxLeftDepth = 32
