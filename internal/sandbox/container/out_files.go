package container

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"time"

	"codemode/internal/sandbox"
)

//go:embed out_files.py
var leftCode string

var errGuestEnded = errors.New("the container that they were in has ended with its Python")

// archiveTime bounds how long the other Python may be silent: a guest can stop it.
const archiveTime = 15 * time.Second

var (
	errSilent         = fmt.Errorf("the Python that archives it in the container has said nothing for %v", archiveTime)
	errArchiverKilled = errors.New(
		"the Python that archives it in the container was killed: it has what memory the code leaves it",
	)
)

// OutFiles has the engine run another Python in the container: wherever that is, what it writes arrives here. The
// guest may disturb it, and gains nothing by that: it could have left any file anyway. It must not become it, though,
// which in a pod has no filter: the program is the init's, not what PATH names by now; see also beside.
func (g *guest) OutFiles(
	ctx context.Context, known map[string]string, take func(sandbox.OutFile) error,
) error {
	select {
	case <-g.done:
		return errGuestEnded
	default:
	}
	e := g.engine
	python := []string{g.hello.program, "-I", "-S", "-c", leftCode}
	args := append(append(slices.Clone(e.global), "exec", "-i", g.name), python...)
	if e.name == Kubernetes {
		args = e.inPod(g.pod, python...)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silent := time.AfterFunc(archiveTime, func() { cancel(errSilent) })
	defer silent.Stop()
	cmd := e.command(args...)
	var stderr beginning
	cmd.Stdin, cmd.Stderr, cmd.WaitDelay = knownFiles(known), &stderr, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return &commandError{command: e.program() + " exec", cause: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	read := outFilesIn(&timedReader{out, silent}, take)
	if read != nil {
		_ = cmd.Process.Kill()
	}
	silent.Reset(archiveTime) // nor may it go on behind the archive's end
	err = cmd.Wait()
	switch code := cmd.ProcessState.ExitCode(); {
	case !stop():
		return context.Cause(ctx)
	case errors.As(read, new(*takeError)):
		return errors.Unwrap(read)
	case code == killedCode:
		return errArchiverKilled
	case code > 0 || err != nil && read == nil:
		return &commandError{command: e.program() + " exec", stderr: stderr.kept.String(), code: code}
	}
	return read
}

// A beginning keeps the first kilobytes that are written to it: who archives may be the guest.
type beginning struct{ kept bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), maxChatter-b.kept.Len())])
	return len(p), nil
}

// A timedReader has a timer run as long as it waits.
type timedReader struct {
	io.Reader
	limit *time.Timer
}

func (r *timedReader) Read(p []byte) (int, error) {
	r.limit.Reset(archiveTime)
	defer r.limit.Stop()
	return r.Reader.Read(p)
}

// knownFiles tells the other Python what need not be in the archive: a JSON object of names, in base64, and stamps.
func knownFiles(known map[string]string) io.Reader {
	encoded := make(map[string]string, len(known))
	for name, stamp := range known {
		encoded[base64.StdEncoding.EncodeToString([]byte(name))] = stamp
	}
	text, _ := json.Marshal(encoded) // of texts, which have a form in JSON
	return bytes.NewReader(text)
}

// A takeError is an error of the function that takes the files.
type takeError struct{ error }

func (e *takeError) Unwrap() error { return e.error }

// maxOutName is how long a name can be, in bytes: out_files.py goes no deeper than 32 folders.
const maxOutName = 33 * 256

// maxHeaders is how much an archive may have before a file, in bytes: its name, and what is said of it.
const maxHeaders = 64 << 10

// A fileReader reads as much as a file and its headers may have: a reader of archives takes headers without end.
type fileReader struct {
	io.Reader
	left int64
}

func (r *fileReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("the archive has more than %d bytes before a file", maxHeaders)
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// outFilesIn hands over the files of an archive.
func outFilesIn(r io.Reader, take func(sandbox.OutFile) error) error {
	limited := &fileReader{r, maxHeaders}
	archive := tar.NewReader(limited)
	for {
		h, err := archive.Next()
		if err == nil {
			limited.left = max(h.Size, h.Size+maxHeaders)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading what is in %s: %w", sandbox.OutDir, err)
		}
		f := sandbox.OutFile{Name: path.Clean(h.Name), Size: h.Size, Content: archive}
		f.Stamp = sandbox.OutFileStamp(h.ModTime.Unix(), h.Size) // out_files.py has nanoseconds there
		switch {
		case !filepath.IsLocal(f.Name) || f.Name == "." || len(f.Name) > maxOutName:
			continue // such a one nobody has left
		case h.Typeflag == tar.TypeDir:
			f = sandbox.OutFile{Name: f.Name, Err: sandbox.ErrTooDeep} // out_files.py names no others
		case h.Typeflag != tar.TypeReg:
			f = sandbox.OutFile{Name: f.Name, Err: sandbox.ErrNotRegular}
		}
		if err := take(f); err != nil {
			return &takeError{err}
		}
	}
}
