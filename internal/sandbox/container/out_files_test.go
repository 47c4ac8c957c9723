package container

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"codemode/internal/sandbox"
)

// TestLeftIn: an archive is the guest's word. What its names say leads nowhere, and what is no file has no content.
func TestLeftIn(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "./a", Size: 3},
		{Name: "../up", Size: 3},
		{Name: "/absolute", Size: 3},
		{Name: "x/../../up", Size: 3},
		{Name: ".", Size: 3},
		{Name: "dir/", Typeflag: tar.TypeDir},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
		{Name: "hard", Typeflag: tar.TypeLink, Linkname: "../up"},
		{Name: "fifo", Typeflag: tar.TypeFifo},
		{Name: strings.Repeat("d/", maxOutName/2) + "deep", Size: 3},
		{Name: "x//y/./b", Size: 3},
	} {
		h.Mode = 0o4777
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			_, _ = w.Write([]byte("abc")) // to memory
		}
	}
	var got []string
	take := func(f sandbox.OutFile) error {
		if f.Err != nil {
			got = append(got, f.Name+": "+f.Err.Error())
			return nil
		}
		text, err := io.ReadAll(f.Content)
		got = append(got, f.Name+"="+string(text))
		return err
	}
	// It is cut off behind the last file, as by a guest that has ended the other Python.
	err := outFilesIn(io.MultiReader(&b, &failing{}), take)
	none := ": " + sandbox.ErrNotRegular.Error()
	want := []string{"a=abc", "dir: " + sandbox.ErrTooDeep.Error(), "link" + none, "hard" + none, "fifo" + none, "x/y/b=abc"}
	if !slices.Equal(got, want) || !errors.Is(err, errCut) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestHeadersWithoutEnd: of names without a file, which may be as long as a megabyte each, no more is read than a file has.
func TestHeadersWithoutEnd(t *testing.T) {
	long, body := make([]byte, 512), make([]byte, 1<<20)
	copy(long, "././@LongLink")
	copy(long[124:], "00004000000\x00") // octal: 1 MiB
	copy(long[257:], "ustar  \x00")
	long[156] = 'L'
	sum := 8 * int(' ')
	for _, b := range long {
		sum += int(b)
	}
	copy(long[148:], fmt.Sprintf("%06o\x00 ", sum))
	archive := bytes.NewReader(bytes.Repeat(slices.Concat(long, body), 20))
	err := outFilesIn(archive, func(sandbox.OutFile) error { return nil })
	if err == nil || archive.Size()-int64(archive.Len()) > 2*maxHeaders {
		t.Errorf("%d bytes were read: %v", archive.Size()-int64(archive.Len()), err)
	}
}

// TestBeginning: what a guest has the other Python say is kept in part, however it is copied.
func TestBeginning(t *testing.T) {
	var b beginning
	const all = 3*maxChatter - 1
	if n, err := io.Copy(&b, bytes.NewReader(make([]byte, all))); n != all || err != nil {
		t.Errorf("copied %d, %v", n, err)
	}
	if n, err := io.Copy(&b, io.LimitReader(rand.Reader, all)); n != all || err != nil {
		t.Errorf("copied %d, %v", n, err)
	}
	if b.kept.Len() != maxChatter {
		t.Errorf("%d bytes are kept", b.kept.Len())
	}
}

var errCut = errors.New("cut")

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errCut }
