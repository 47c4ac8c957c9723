package commands

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
	"codemode/internal/quota"
)

// images shows the images of a program: inline where stdout is a terminal that can, else as files.
type images struct {
	dir    string   // where they are saved; empty until the first one is, when no folder was named
	root   *os.Root // the folder that was named
	named  bool
	room   imageRoom
	saved  int64
	inline func(mime string, data []byte) string // the terminal's escape sequence; nil when it has none
	stdout io.Writer
	count  int
}

// imageRoom is where images may be saved, and how much.
type imageRoom struct {
	base string        // where a folder is made when none was named; empty is the system's temporary directory
	disk *quota.Budget // for what is there
	max  int64         // bytes of one program's images, wherever they are
}

// newImages saves to dir, the real path of what was named; it finds out at once when that cannot be used. Close it.
func newImages(env Env, named, dir string, room imageRoom) (*images, error) {
	s := &images{dir: dir, named: dir != "", stdout: env.Stdout, room: room}
	if isTerminal(env.Stdout) {
		s.inline = inlineProtocol(env)
	}
	if !s.named {
		return s, nil
	}
	var err error
	if s.root, err = plainfile.OpenFolder(s.dir, 0o755); err == nil {
		if err = writable(s.root); err != nil {
			s.root.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("using the folder --out %q: %w", named, err)
	}
	return s, nil
}

// close closes the folder that was named.
func (s *images) close() {
	if s.root != nil {
		_ = s.root.Close()
	}
}

// writable makes a file in a folder that goes away again.
func writable(dir *os.Root) error {
	name := ".codemode-" + rand.Text()
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fileerr.Cause(err)
	}
	return errors.Join(f.Close(), dir.Remove(name))
}

// show puts an image on the terminal, or into a file whose name it returns; a named folder gets it in any case.
func (s *images) show(mime string, data []byte) (name string, err error) {
	shown := false
	if s.inline != nil {
		if sequence := s.inline(mime, data); sequence != "" {
			_, err := io.WriteString(s.stdout, sequence+"\n")
			shown = err == nil
		}
	}
	if shown && !s.named {
		return "", nil
	}
	return s.save(mime, data)
}

var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
}

// save writes an image to a file of its own; it never overwrites one.
func (s *images) save(mime string, data []byte) (string, error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("an image was not saved: %w", err) }
	if s.saved+int64(len(data)) > s.room.max {
		return fail(fmt.Errorf("those of one program may have %d bytes (disk.max_size)", s.room.max))
	}
	if err := s.folder(); err != nil {
		return fail(err)
	}
	disk := s.room.disk
	if s.named {
		disk = nil // what is in a folder of the user's own is not ours to remove
	}
	var name string
	ctx, cancel := context.WithTimeout(context.Background(), imagePatience)
	defer cancel()
	err := disk.Add(ctx, int64(len(data)), "", func() (err error) {
		name, err = s.write(mime, data)
		return err
	})
	if err != nil {
		return fail(err)
	}
	s.saved += int64(len(data))
	return name, nil
}

// imagePatience is how long an image waits for other processes that are adding to what is kept.
const imagePatience = 5 * time.Second

// folder makes the one that images are in, where none was named.
func (s *images) folder() (err error) {
	switch {
	case s.dir != "":
	case s.room.base == "":
		s.dir, err = os.MkdirTemp("", "codemode-images-")
	default:
		if err = os.MkdirAll(s.room.base, 0o700); err == nil {
			s.dir, err = os.MkdirTemp(s.room.base, time.Now().Format("20060102-150405-"))
		}
	}
	return err
}

// write makes the file of an image. Its folder may have been removed with others' images to make room.
func (s *images) write(mime string, data []byte) (string, error) {
	root := s.root
	if !s.named {
		err := os.MkdirAll(s.dir, 0o700)
		if err == nil {
			root, err = os.OpenRoot(s.dir)
		}
		if err != nil {
			return "", err
		}
		defer root.Close()
	}
	for {
		s.count++
		base := fmt.Sprintf("image-%d%s", s.count, extensions[mime])
		f, err := root.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.Write(data)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return "", err
		}
		return filepath.Join(s.dir, base), nil
	}
}

// inlineProtocol tells from the environment how the terminal shows images, if it does. Inside tmux and
// screen TERM is theirs, and they do not pass images on.
func inlineProtocol(env Env) func(mime string, data []byte) string {
	terminal, program := env.get("TERM"), env.get("TERM_PROGRAM")
	switch {
	case strings.HasPrefix(terminal, "tmux"), strings.HasPrefix(terminal, "screen"):
		return nil
	case program == "iTerm.app", program == "WezTerm":
		return iterm2
	case terminal == "xterm-kitty", terminal == "xterm-ghostty", program == "ghostty":
		return kitty
	}
	return nil
}

// iterm2 is the sequence of iterm2.com/documentation-images.html (2026-07), which WezTerm has too.
func iterm2(mime string, data []byte) string {
	if mime == "image/svg+xml" {
		return ""
	}
	return fmt.Sprintf("\x1b]1337;File=inline=1;size=%d:%s\a", len(data), base64.StdEncoding.EncodeToString(data))
}

// kitty is the sequence of sw.kovidgoyal.net/kitty/graphics-protocol (2026-07): PNG (f=100), transmitted
// and shown (a=T), in chunks of at most 4096 characters of which all but the last say m=1.
func kitty(mime string, data []byte) string {
	if mime != "image/png" {
		return ""
	}
	const chunk = 4096
	var b strings.Builder
	control := "a=T,f=100,"
	for rest := base64.StdEncoding.EncodeToString(data); rest != ""; {
		n := min(chunk, len(rest))
		more := 0
		if n < len(rest) {
			more = 1
		}
		fmt.Fprintf(&b, "\x1b_G%sm=%d;%s\x1b\\", control, more, rest[:n])
		rest, control = rest[n:], ""
	}
	return b.String()
}
