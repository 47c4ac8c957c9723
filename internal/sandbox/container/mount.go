package container

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"codemode/internal/sandbox"
)

var errNotText = errors.New("its name is not UTF-8, which container engines cannot be told")

// mountable returns the engine as it starts guests with those mounts, unless their containers would not see them as
// they are.
func (r *Runtime) mountable(ctx context.Context, e *engine, mounts []sandbox.Mount) (*engine, error) {
	if err := sandbox.CheckMounts(r.name, mounts); err != nil {
		return nil, err
	}
	for _, m := range mounts {
		if !isText(m) {
			return nil, &sandbox.MountError{
				Runtime: r.name, Path: m.Host, Err: errNotText, Remedy: []string{"rename it, or use --runtime native"},
			}
		}
		if e.local {
			continue
		}
		folder := m.Host
		if !m.Dir {
			folder = filepath.Dir(m.Host)
		}
		if _, err := r.ProveShare(ctx, folder); err != nil {
			return nil, err
		}
	}
	own := *e
	own.closed = slices.ContainsFunc(mounts, func(m sandbox.Mount) bool { return m.Dir })
	own.writes = sandbox.HasWritable(mounts)
	if !own.closed && !own.writes {
		return e, nil
	}
	return &own, r.chooseFilter(&own)
}

// isText tells whether all names that an engine is told of a mount are UTF-8.
func isText(m sandbox.Mount) bool {
	return utf8.ValidString(m.Host) && utf8.ValidString(m.Name) &&
		!slices.ContainsFunc(m.Covered, func(c sandbox.Cover) bool { return !utf8.ValidString(c.Path) })
}

// binds are what a guest sees of this host. Docker has no words for what its kernel should refuse there: it is the
// container's rules about devices and privileges that hold.
func (e *engine) binds(mounts []sandbox.Mount, places []string) (list []bind) {
	for i, m := range mounts {
		b := bind{source: m.Host, target: places[i], write: m.Write}
		if e.name == Podman {
			b.options = []string{"nosuid", "nodev", "noexec"}
		}
		list = append(list, b)
		for _, c := range m.ToCover() {
			cover := bind{source: "/dev/null", target: path.Join(b.target, c.Path), options: b.options}
			if c.Dir {
				cover.source, cover.options = "", nil
			}
			list = append(list, cover)
		}
	}
	return list
}

// covers are what is covered of the mount at a place, by paths in it.
func (o order) covers(place string) (list []string) {
	for _, b := range o.binds {
		if rest, ok := strings.CutPrefix(b.target, place+"/"); ok {
			list = append(list, rest)
		}
	}
	return list
}

// newPlace is where something of this host is mounted, which nobody can guess: an engine makes what a cover is to be
// mounted on, through links that another session's code may put into the way at that moment.
func newPlace(in string) string { return path.Join(in, strings.ToLower(rand.Text())) }

// inode is what the init compares a mount with. Who may change a folder above it can have its path lead elsewhere for
// the moment in which the engine takes it. In a virtual machine, files have other numbers than here.
func (e *engine) inode(m sandbox.Mount) (string, error) {
	if !e.local {
		return "", nil
	}
	inode, err := sandbox.InodeOf(m.Host)
	if err != nil {
		return "", &sandbox.MountError{Runtime: e.name, Path: m.Host, Err: err}
	}
	return fmt.Sprintf("%d:%d", inode.Device, inode.Number), nil
}

// closedTo is the error of a mount that the container's user may not use as it is meant: by its mode, or by the rules
// of a security module.
func (g *guest) closedTo(m sandbox.Mount, user string) error {
	do, everybody := "read", "make it readable by everybody"
	if m.Write {
		do, everybody = "write to", "make it writable by everybody"
	}
	remedy := []string{everybody + ", or use --runtime native"}
	if you := g.engine.runsAs(); you != user && you != "" {
		remedy = append(remedy, "CODEMODE_SANDBOX_USER="+you+" has code run in containers as you")
	}
	if _, err := os.Stat("/sys/fs/selinux/enforce"); err == nil {
		remedy = append(remedy, "with SELinux, containers see what is labelled for them: chcon -Rt container_file_t")
	}
	return &sandbox.MountError{
		Runtime: g.engine.name, Path: m.Host, Remedy: remedy,
		Err: fmt.Errorf("the container's user %s may not %s it", user, do),
	}
}

// runsAs is who codemode's user is in a container, "" for root, who should be nobody there. A rootless engine maps its
// user to root.
func (e *engine) runsAs() string {
	switch {
	case e.rootless || !e.local:
		return "0:0"
	case os.Getuid() == 0:
		return ""
	}
	return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
}
