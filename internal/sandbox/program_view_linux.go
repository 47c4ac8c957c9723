package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
	"codemode/internal/proc"
	"codemode/internal/sandbox/stage2"
)

// programSystem are the folders of the host that every program sees, read-only: what the system has installed, and what
// its libraries read to resolve names and check certificates. There is nothing of its users among them.
var programSystem = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr",
	"/nix/store", "/run/current-system", "/home/linuxbrew/.linuxbrew",
	"/var/lib/ca-certificates", // where openSUSE's /etc/ssl/certs leads
}

// programEtc are the parts of /etc. Where one is a link it is shown as what it leads to.
var programEtc = []string{
	"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/fonts",
	"/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/java", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/localtime", "/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release",
	"/etc/pki/ca-trust", "/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/protocols",
	"/etc/resolv.conf", "/etc/services", "/etc/ssl/cert.pem", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/static",
	"/etc/timezone",
}

// programHost looks once, as host does; but what /etc's links lead to may change with the network.
var programHost = sync.OnceValue(func() hostView { return look(programSystem) })

// What a program has in memory for itself, all of which counts as its memory.
const (
	programTmp    = 1 << 30
	programShm    = 64 << 20
	programInodes = 65536
)

// view is what a program sees within its restrictions: the system, its own installation, a home and a /tmp that are
// empty and its own, and the paths it was given.
func (programs *Programs) view(spec proc.Spec, restrictions Restrictions) (view, error) {
	v := view{
		program: true, path: spec.Path, argv: append([]string{spec.Path}, spec.Args...), dir: spec.Dir, keep: 3,
		uid: os.Geteuid(), gid: os.Getegid(), network: restrictions.Network, grace: programGrace,
		symlinks: programHost().symlinks, shm: programShm,
		devices: []string{"/dev/null", "/dev/full", "/dev/random", "/dev/urandom", zero},
	}
	p := &places{
		env: environ(spec.Env), protected: programs.protected, homes: programs.homes, trusted: programs.trusted,
	}
	if restrictions.Project != "" {
		p.named, p.project = filepath.Clean(restrictions.Project), plainfile.Resolve(restrictions.Project)
	}
	if home := p.env["HOME"]; filepath.IsAbs(home) && filepath.Clean(home) != "/" {
		p.home = filepath.Clean(home)
		p.homes = append(slices.Clip(programs.homes), p.home) // the entry may say another
	}
	chosen, err := p.choose(restrictions)
	if err != nil {
		return v, err
	}
	p.binds = slices.Concat(programHost().binds, etc(), chosen)
	p.program(spec.Path)
	if err := p.cwd(spec.Dir); err != nil {
		return v, err
	}
	v.binds = needed(p.binds)
	v.dirs = []stage2.Dir{{Inside: "/tmp", Size: programTmp, Inodes: programInodes, Exec: true}}
	if p.home != "" {
		v.dirs = append(v.dirs, stage2.Dir{Inside: p.home, Size: programTmp, Inodes: programInodes, Exec: true})
	}
	v.files = programUsers(p.env["USER"], v.uid, v.gid, p.home)
	v.env = programEnv(spec.Env)
	return v, nil
}

func environ(env []string) map[string]string {
	all := make(map[string]string, len(env))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		all[name] = value
	}
	return all
}

// programEnv is the environment without what names folders of the host that are not there.
func programEnv(env []string) []string {
	out := make([]string, 0, len(env))
	for _, e := range env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "TMPDIR":
			out = append(out, "TMPDIR=/tmp")
		case "XDG_RUNTIME_DIR":
		default:
			out = append(out, e)
		}
	}
	return out
}

// programUsers are files in which the program's user is the only one.
func programUsers(name string, uid, gid int, home string) []stage2.File {
	if name == "" || strings.ContainsAny(name, ":\n/") {
		name = "sandbox"
	}
	if home == "" || strings.ContainsAny(home, ":\n") {
		home = "/"
	}
	return []stage2.File{
		{Inside: "/etc/passwd", Content: fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", name, uid, gid, home)},
		{Inside: "/etc/group", Content: fmt.Sprintf("%s:x:%d:\n", name, gid)},
	}
}

func etc() (binds []Bind) {
	for _, p := range programEtc {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			binds = append(binds, Bind{Host: real, Inside: p})
		}
	}
	return binds
}

// places collects what of the host a program sees.
type places struct {
	env       map[string]string
	home      string   // its own; "" where it has none
	homes     []string // which it does not see whole
	protected []string
	trusted   []string
	write     []string // real paths that it may change
	steps     int      // that may still be gone from one program to another
	named     string   // Restrictions.Project
	project   string   // the same, without links
	followed  bool     // a file of it has led to what is followed
	binds     []Bind
}

// holds tells whether path is dir, or below it.
func holds(dir, path string) bool {
	_, ok := cutDir(path, dir)
	return ok
}

// related tells whether one of two paths holds the other.
func related(a, b string) bool { return holds(a, b) || holds(b, a) }

// decides tells whether who may change what is in dir decides what a protected path is.
func decides(dir, protected string) bool {
	return filepath.IsAbs(protected) &&
		slices.ContainsFunc(plainfile.Trail(protected), func(at string) bool { return related(dir, at) })
}

// choose resolves the paths that restrictions name. Each is seen where it is and, where links on the way to a trusted
// folder lead to it, as it is written.
func (p *places) choose(restrictions Restrictions) ([]Bind, error) {
	var binds []Bind
	for _, list := range []struct {
		field string
		paths []string
		write bool
	}{{"sandbox_write", restrictions.Write, true}, {"sandbox_read", restrictions.Read, false}} {
		for _, path := range list.paths {
			real, err := p.resolve(path, list.write)
			if err == nil && !list.write && p.isWritable(real) {
				err = errors.New("it is in a folder that sandbox_write names")
			}
			if err != nil {
				return nil, &RestrictionsError{Field: list.field, Path: path, Err: err}
			}
			if list.write {
				p.write = append(p.write, real)
			}
			binds = append(binds, chosen(path, real, list.write)...)
		}
	}
	return aliased(binds), nil
}

func chosen(path, real string, write bool) []Bind {
	b := []Bind{{Host: real, Inside: real, Write: write, Real: true, Shift: true}}
	if path = filepath.Clean(path); path != real {
		b = append(b, Bind{Host: real, Inside: path, Write: write, Real: true, Shift: true})
	}
	return b
}

// aliased drops second names that are seen anyhow: as links in another folder, where nothing can be mounted. What is
// below a folder that may be written to is dropped, too: making its mount point would be writing.
func aliased(binds []Bind) []Bind {
	return slices.DeleteFunc(slices.Clone(binds), func(b Bind) bool {
		return slices.ContainsFunc(binds, func(o Bind) bool {
			return o.Inside != b.Inside && holds(o.Inside, b.Inside) && (b.Host != b.Inside || o.Write)
		})
	})
}

// isWritable tells whether the program may change what is at a path.
func (p *places) isWritable(path string) bool {
	return slices.ContainsFunc(p.write, func(w string) bool { return holds(w, path) })
}

// isChangeable tells whether the program may change what a path leads to.
func (p *places) isChangeable(path string) bool {
	return len(p.write) > 0 && slices.ContainsFunc(plainfile.Trail(path), p.isWritable)
}

// What no entry can choose to see, and to write to.
var (
	unreadable = []string{"/dev", "/proc", "/sys"}
	unwritable = []string{
		"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/run", "/sbin", "/usr",
	}
)

// resolve is where a chosen path leads, or why it cannot be chosen.
func (p *places) resolve(path string, write bool) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("it is not an absolute path")
	}
	real, err := plainfile.Follow(filepath.Clean(path), p.trusted)
	if err == nil {
		_, err = os.Stat(real)
	}
	if err != nil {
		return "", fileerr.Cause(err)
	}
	return real, p.judge(real, write)
}

// judge says why a path without links cannot be chosen.
func (p *places) judge(real string, write bool) error {
	if real == "/" {
		return errors.New("it is the whole file system")
	}
	refused := unreadable
	if write {
		refused = slices.Concat(unreadable, unwritable)
	}
	for _, dir := range refused {
		if holds(dir, real) {
			return fmt.Errorf("what is in %s is the system's", dir)
		}
	}
	if !write {
		return nil
	}
	for _, keep := range p.protected {
		if decides(real, keep) {
			return fmt.Errorf("codemode keeps in %q what decides about servers, which no server may change", keep)
		}
	}
	return nil
}

// sees tells whether a path is seen without more ado.
func (p *places) sees(path string) bool {
	return slices.ContainsFunc(p.binds, func(b Bind) bool { return holds(b.Inside, path) }) ||
		slices.ContainsFunc(
			programHost().symlinks, func(l stage2.Symlink) bool { return holds(string(l.Inside), path) },
		)
}

// isPrivate tells whether a path is nothing that a program sees without its entry's naming it: a home whole, what
// codemode and clients keep of servers, and the sockets and secrets in /run.
func (p *places) isPrivate(path string) bool {
	return holds("/run", path) ||
		slices.ContainsFunc(
			p.homes,
			func(home string) bool {
				return home != "" && (holds(path, home) || holds(path, plainfile.Resolve(home)))
			},
		) ||
		slices.ContainsFunc(p.protected, func(keep string) bool { return decides(path, keep) })
}

// cwd adds the folder where the program starts, as show does.
func (p *places) cwd(dir string) error {
	real, err := plainfile.Follow(filepath.Clean(dir), p.trusted)
	if _, ok := errors.AsType[*plainfile.LinkError](err); ok {
		return &RestrictionsError{Field: "cwd", Path: dir, Err: err}
	}
	if err == nil {
		p.showAs(dir, real)
	}
	return nil
}

// show adds a path of the host, read-only, unless it is seen already, is the system's or private.
func (p *places) show(path string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		p.showAs(path, real)
	}
}

func (p *places) showAs(path, real string) {
	if p.judge(real, false) != nil || p.isChangeable(path) || p.isPrivate(path) || p.isPrivate(real) || p.sees(path) {
		return
	}
	p.binds = append(p.binds, chosen(path, real, false)...)
}
