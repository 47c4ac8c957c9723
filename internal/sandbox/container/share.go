package container

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"codemode/internal/hint"
	"codemode/internal/sandbox"
)

// A Share is a folder of this host that an engine's containers can read.
type Share struct {
	Folder string    // absolute, and without links
	Proved time.Time // when a container has read a file there
}

// Virtual machines whose folders their user chooses, as values of ShareError.VM.
const (
	PodmanMachine = "Podman machine"
	DockerDesktop = "Docker Desktop"
)

// A ShareError is a folder of this host that an engine's containers do not see as it is.
type ShareError struct {
	Runtime string // Podman or Docker
	Folder  string
	VM      string // where the engine's containers run, if that is a virtual machine on this host
	Remote  bool   // they are not processes of this system: a virtual machine's, or another host's
	Err     error
}

func (e *ShareError) Error() string {
	place := ""
	switch {
	case e.VM != "":
		place = " in " + e.VM
	case e.Remote:
		place = " on another host"
	}
	return fmt.Sprintf("containers of %s%s cannot read folder %q: %v", e.Runtime, place, e.Folder, e.Err)
}

// Hint says how to share a folder with a virtual machine. Podman chooses folders when it makes a machine, and
// --volume replaces those it would share by itself (podman-machine-init(1) of 5.7, November 2026).
func (e *ShareError) Hint() []string {
	switch {
	case e.VM == PodmanMachine:
		return []string{
			`make a machine with it: podman machine init --volume "$HOME:$HOME" --volume ` + hint.Word(
				e.Folder+":"+e.Folder,
			) + " codemode",
			"use it instead: podman machine stop; podman machine start codemode; podman system connection default codemode",
		}
	case e.VM == DockerDesktop:
		return []string{"add the folder in Docker Desktop: Settings, Resources, File Sharing"}
	case e.VM != "":
		return []string{"share the folder with " + e.VM}
	case e.Runtime == Kubernetes:
		return []string{"leave it out, or use another runtime: --runtime native"}
	case e.Remote:
		return []string{
			"use an engine of this machine; DOCKER_HOST, CONTAINER_HOST and their contexts and connections name another",
		}
	}
	return []string{"if SELinux or a snap confines the engine, use a folder that it may read"}
}

func (e *ShareError) Unwrap() error { return e.Err }

const (
	sharePrefix = ".codemode-share-" // of the folder that is mounted
	shareDir    = "/run/codemode"    // in the container
	tokenName   = "token"

	// proofTime is how long a proof is believed: what a virtual machine shares can be changed.
	proofTime = 24 * time.Hour
)

// readToken says what a container finds. Without an answer it is the engine that did not get as far.
const readToken = `
try:
    print(open("` + shareDir + "/" + tokenName + `").read())
except OSError as e:
    print(e)
`

// ProveShare proves that containers can read a folder of this host: one of them reads a file that was just
// written there. What is mounted is a folder made inside it, so the image sees nothing else of it. A proof is
// remembered in the cache, by engine and folder. Its error is a [*ShareError] where the folder is not what
// containers see.
func (r *Runtime) ProveShare(ctx context.Context, folder string) (Share, error) {
	dir, err := realFolder(folder)
	if err != nil {
		return Share{}, fmt.Errorf("proving that folder %q is shared: %w", folder, err)
	}
	if r.name == Kubernetes {
		return Share{}, &ShareError{Runtime: r.name, Folder: dir, Remote: true, Err: errNode}
	}
	r.use()
	defer r.unuse()
	e, err := r.ready(ctx)
	if err != nil {
		return Share{}, err
	}
	where, err := e.locate(ctx, r.opts.Lookup)
	if err != nil {
		return Share{}, err
	}
	proof := r.proofFile(e, where, dir)
	if fi, err := os.Stat(proof); err == nil {
		if age := time.Since(fi.ModTime()); age >= 0 &&
			age < proofTime { // of one from the future, nobody knows how old it is
			return Share{dir, fi.ModTime()}, nil
		}
	}
	if err := r.tryShare(ctx, e, dir); err != nil {
		if cause := notShared(err); cause != nil {
			err = &ShareError{Runtime: r.name, Folder: dir, VM: where.vm, Remote: where.remote, Err: cause}
		}
		return Share{}, err
	}
	if err := writeWhole(proof, []byte(e.name+" "+where.id+"\n"+dir+"\n")); err != nil {
		r.log.Debug("remembering that a folder is shared", "folder", dir, "error", err)
	}
	return Share{dir, time.Now()}, nil
}

var errNode = errors.New("it is on this machine, and a pod is on a node of its cluster")

var errNotShared = errors.New("what is there is something else")

// notShared is why a mount did not work, and nil of what is wrong with the engine. Engines have no code for it, and
// many words.
func notShared(err error) error {
	unavailable, ok := errors.AsType[*sandbox.UnavailableError](err)
	switch {
	case errors.Is(err, errNotShared):
		return err
	case ok && (unavailable.Code == codeEngine || unavailable.Code == codePermission):
		return unavailable.Err
	}
	return nil
}

func realFolder(folder string) (string, error) {
	dir, err := filepath.Abs(folder)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return "", errors.Join(err, errors.New("it is no folder"))
	}
	return dir, nil
}

// tryShare has a container read a random word from a file in dir.
func (r *Runtime) tryShare(ctx context.Context, e *engine, dir string) (err error) {
	sweepShares(dir)
	mounted, err := os.MkdirTemp(dir, sharePrefix)
	if err != nil {
		return fmt.Errorf("proving that folder %q is shared: %w", dir, err)
	}
	file := filepath.Join(mounted, tokenName)
	defer func() { removeShare(mounted) }()
	token := rand.Text()
	err = os.WriteFile(file, []byte(token), 0o644)
	// The container's user is another one, so the umask must not count.
	if err = errors.Join(err, os.Chmod(file, 0o644), os.Chmod(mounted, 0o755)); err != nil {
		return fmt.Errorf("proving that folder %q is shared: %w", dir, err)
	}
	found, err := r.throwaway(ctx, e, readToken, bind{source: mounted, target: shareDir})
	if err != nil {
		return err
	}
	if found != token {
		return fmt.Errorf("%w: a container found %q for a file just written", errNotShared, clip(found))
	}
	return nil
}

// throwaway runs code in a container of its own, and returns what it prints.
func (r *Runtime) throwaway(ctx context.Context, e *engine, code string, binds ...bind) (string, error) {
	volumes, err := r.imageVolumes(ctx, e)
	if err != nil {
		return "", err
	}
	policy := sandbox.DefaultPolicy()
	means, _ := sandbox.Effective(
		policy, e.report(r.opts.Image),
	) // a limit that is missing does not matter: the code is ours
	o := order{
		name: e.newName(), image: r.opts.Image, user: r.opts.User, profile: e.profile, means: means,
		spec: sandbox.Spec{Session: "share", Policy: policy}, binds: binds, volumes: volumes,
		python: []string{"-I", "-S", "-X", "utf8", "-c", code},
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, errStartTime)
	defer cancel()
	var watch sync.WaitGroup
	watch.Go(func() {
		slow := time.NewTimer(slowStart)
		defer slow.Stop()
		select {
		case <-ctx.Done():
		case <-slow.C:
			if err := e.heartbeat(ctx); err != nil {
				giveUp(err)
			}
		}
	})
	out, err := e.run(ctx, nil, e.args(o)...)
	giveUp(nil)
	watch.Wait()
	if err != nil {
		r.work.Go(func() { _ = e.remove(context.Background(), o.name) })
		return "", e.diagnose("starting a container", err)
	}
	return strings.TrimSpace(out), nil
}

// sweepShares removes what proofs left that were killed.
func sweepShares(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), sharePrefix) {
			continue
		}
		if fi, err := entry.Info(); err == nil && time.Since(fi.ModTime()) > abandoned {
			removeShare(filepath.Join(dir, entry.Name()))
		}
	}
}

// removeShare removes no more than what was made: it is in a folder of the user's.
func removeShare(dir string) {
	_ = os.Remove(filepath.Join(dir, tokenName))
	_ = os.Remove(dir)
}

// A location is where an engine's containers run.
type location struct {
	id     string // names the engine among all there may be
	vm     string // the virtual machine's kind, on this host
	remote bool   // not here
}

// locate finds out which engine this is. A podman elsewhere is known by its address, which its command knows.
func (e *engine) locate(ctx context.Context, lookup func(string) (string, bool)) (location, error) {
	if e.name == Docker || e.local {
		return location{cmp.Or(e.id, e.owner.host), e.vm, !e.local}, nil
	}
	address, _ := lookup("CONTAINER_HOST")
	if address == "" {
		text, err := e.ask(ctx, "system", "connection", "list", "--format", "json")
		if err != nil {
			return location{}, e.diagnose("asking the engine where it is", err)
		}
		var connections []struct {
			Name, URI string
			Default   bool
		}
		_ = json.Unmarshal([]byte(text), &connections)
		chosen, _ := lookup("CONTAINER_CONNECTION")
		for _, c := range connections {
			if c.Name == chosen || chosen == "" && c.Default {
				address = c.URI
			}
		}
	}
	where := location{address, "", true}
	// A machine is reached by a port of this host, or by a socket where no engine can run outside one.
	u, err := url.Parse(address)
	switch {
	case err != nil:
	case u.Scheme == "ssh" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()),
		u.Scheme != "ssh" && u.Scheme != "tcp" && !hostIsLinux:
		where.vm = PodmanMachine
	case u.Scheme == "unix":
		where.remote = false
	}
	return where, nil
}

// proofFile is where it is remembered that an engine's containers can read a folder.
func (r *Runtime) proofFile(e *engine, where location, dir string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d %q", e.name, e.global, where.id, os.Getuid(), dir))
	return filepath.Join(r.opts.CacheDir, "shares", hex.EncodeToString(sum[:8]))
}
