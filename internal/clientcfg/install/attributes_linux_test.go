package install

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// aclOf is an access list as acl(5) has it in an attribute: an owner who may write, a user who may read, a group that
// may not, and others who may not.
func aclOf(t *testing.T, user uint32) []byte {
	t.Helper()
	text := binary.LittleEndian.AppendUint32(nil, 2) // the version
	const undefined = 0xffffffff
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, undefined}, {2, 4, user}, {4, 0, undefined}, {16, 4, undefined}, {32, 0, undefined}} {
		text = binary.LittleEndian.AppendUint16(text, e.tag)
		text = binary.LittleEndian.AppendUint16(text, e.perm)
		text = binary.LittleEndian.AppendUint32(text, e.id)
	}
	return text
}

func getAttribute(t *testing.T, path, name string) string {
	t.Helper()
	buf := make([]byte, 1<<10)
	n, err := unix.Getxattr(path, name, buf)
	if errors.Is(err, unix.ENODATA) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// TestAttributes: who may read a client's file, and what is noted of it, is not changed by writing it; and a list that
// the folder has for new files is not that of one that was there.
func TestAttributes(t *testing.T) {
	const note = "user.note"
	i, req, path := cursorAt(t, t.TempDir(), `{"mcpServers": {}}`)
	list := aclOf(t, 1234)
	if err := unix.Setxattr(path, accessList, list, 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system of the temporary folder has no access lists")
	} else if err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(path, note, []byte("mine"), 0); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(context.Context, Request) []Result{i.Install, i.Uninstall} {
		r := only(t, change(t.Context(), req), path)
		if !r.written {
			t.Fatalf("%+v", r)
		}
		what := r.Action
		if got := getAttribute(t, path, accessList); got != string(list) {
			t.Errorf("%s: its access list is %x, was %x", what, got, list)
		}
		if got := getAttribute(t, path, note); got != "mine" {
			t.Errorf("%s: the note is %q", what, got)
		}
	}

	if err := errors.Join(unix.Removexattr(path, accessList), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(filepath.Dir(path), "system.posix_acl_default", aclOf(t, 4321), 0); err != nil {
		t.Fatal(err)
	}
	if r := only(t, i.Install(t.Context(), req), path); r.Action != Installed {
		t.Fatalf("%+v", r)
	}
	if got := getAttribute(t, path, accessList); got != "" {
		t.Errorf("it has got the access list %x of its folder", got)
	}
}
