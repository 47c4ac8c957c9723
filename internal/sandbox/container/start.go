package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"codemode/internal/sandbox"
	"codemode/internal/sandbox/python"
)

// Start starts a container. Given up, it returns at once: what was begun is removed behind it, and Close of
// the runtime waits for that.
func (r *Runtime) Start(ctx context.Context, spec sandbox.Spec) (started sandbox.Sandbox, err error) {
	if err := r.check(spec); err != nil {
		return nil, err
	}
	r.use() // until the guest is closed
	defer func() {
		if err != nil {
			r.unuse()
		}
	}()
	e, err := r.ready(ctx)
	if err != nil {
		return nil, err
	}
	means, gaps := sandbox.Effective(spec.Policy, e.report(r.opts.Image))
	if len(gaps) > 0 {
		return nil, &sandbox.GapError{Runtime: r.name, Gaps: gaps}
	}
	means.Isolation = sandbox.IsolationFull // whatever less would have been accepted
	if e, err = r.mountable(ctx, e, spec.Mounts); err != nil {
		return nil, err
	}
	if dir := spec.Packages.Host; dir != "" && !e.local {
		if _, err := r.ProveShare(ctx, dir); err != nil {
			return nil, err
		}
	}
	sb, err := r.launch(ctx, e, spec, means)
	if r.opts.Missing && isMissing(err) {
		if err := r.fetch(ctx); err != nil {
			return nil, err
		}
		sb, err = r.launch(ctx, e, spec, means)
	}
	if err != nil {
		return nil, err
	}
	sb.counted = true
	r.log.DebugContext(ctx, "sandbox started", "container", sb.name, "channel", sb.bootArg)
	return sb, nil
}

// fetch pulls the image while something waits for it.
func (r *Runtime) fetch(ctx context.Context) error {
	tell := r.progress()
	what := "fetching the image " + r.opts.Image
	tell(what)
	defer tell("")
	return r.Image().Pull(ctx, func(line string) { tell(what + ": " + line) })
}

// progress is Options.Progress, or does nothing where that is nil.
func (r *Runtime) progress() func(string) {
	if r.opts.Progress == nil {
		return func(string) {}
	}
	return r.opts.Progress
}

func (r *Runtime) check(spec sandbox.Spec) error {
	switch {
	case r.opts.Image == "" || strings.HasPrefix(r.opts.Image, "-"):
		return fmt.Errorf("starting a container: %q is no image", r.opts.Image)
	case strings.HasPrefix(r.opts.User, "-"):
		return fmt.Errorf("starting a container: %q is no user", r.opts.User)
	case spec.Files == nil:
		return errors.New("starting a container: no files")
	case !fs.ValidPath(spec.Boot):
		return fmt.Errorf("starting a container: boot file %q is not a path below %s", spec.Boot, sandbox.GuestDir)
	case spec.Policy.Interpreter != "":
		return &InterpreterError{r.name, spec.Policy.Interpreter}
	}
	return nil
}

// InterpreterError is an interpreter of this machine that a container cannot have: it has its image's.
type InterpreterError struct{ Runtime, Interpreter string }

func (e *InterpreterError) Error() string {
	return fmt.Sprintf(
		"runtime %q cannot use Python %q: it is one of this machine, and a container has its image's", e.Runtime,
		e.Interpreter,
	)
}

// Hint is which Python can be had.
func (e *InterpreterError) Hint() []string {
	return []string{
		"leave out --python (sandbox.python), or use --runtime native; sandbox.image chooses a container's Python",
	}
}

func isMissing(err error) bool {
	var e *sandbox.UnavailableError
	return errors.As(err, &e) && e.Code == "image-missing"
}

// launch starts a container by the shortest way to its guest that works.
func (r *Runtime) launch(ctx context.Context, e *engine, spec sandbox.Spec, means sandbox.Enforcement) (*guest, error) {
	volumes, err := r.imageVolumes(ctx, e)
	if err != nil {
		return nil, err
	}
	shortest := e.shortest()
	r.mu.Lock()
	if r.streams {
		shortest = viaStreams
	}
	r.mu.Unlock()
	sb, err := r.launchBy(ctx, e, spec, means, volumes, shortest)
	if shortest != viaStreams && errors.Is(err, errNoChannel) {
		r.log.Debug("the container did not get its channel", "error", err)
		r.mu.Lock()
		r.streams = true
		r.mu.Unlock()
		sb, err = r.launchBy(ctx, e, spec, means, volumes, viaStreams)
	}
	return sb, err
}

// errNoChannel is a container that could not reach its channel: a security module is in the way, or the engine is not
// on this machine after all.
var errNoChannel = errors.New("the container could not reach its channel")

func (r *Runtime) launchBy(
	ctx context.Context, e *engine, spec sandbox.Spec, means sandbox.Enforcement, volumes []string, by way,
) (*guest, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("starting a container: %w", err)
	}
	select {
	case r.slots <- struct{}{}: // more at once would only make each other slow
	case <-ctx.Done():
		return nil, fmt.Errorf("starting a container: %w", context.Cause(ctx))
	}
	leave := func() { <-r.slots }
	g := newGuest(r, e, means, spec.Stdin)
	o := order{
		name: g.name, image: r.opts.Image, user: r.user(means), profile: e.profile,
		spec: spec, means: means, way: by, volumes: volumes, python: by.boot(),
	}
	for range spec.Mounts {
		o.places = append(o.places, newPlace("/mnt"))
	}
	o.binds = e.binds(spec.Mounts, o.places)
	if dir := spec.Packages.Host; dir != "" {
		b := bind{source: dir, target: newPlace(python.PackagesDir)}
		o.binds, g.added = append(o.binds, b), []string{b.target}
	}
	var err error
	if e.name == Kubernetes {
		o.pod, g.means, err = e.takePod(ctx, o)
		g.pod = o.pod
	}
	var payload []byte
	if err == nil {
		payload, err = r.payload.payload(e, o, g.means)
	}
	if err != nil {
		r.work.Go(func() {
			defer leave()
			_ = e.remove(context.Background(), o.name)
		})
		return nil, err
	}
	if err := g.run(o); err != nil {
		leave()
		return nil, e.diagnose("starting a container", &commandError{command: e.program() + " run", cause: err})
	}
	if err := g.greet(ctx, payload, o); err != nil {
		g.Kill()
		r.work.Go(func() {
			defer leave()
			_ = g.Close()
		})
		return nil, err
	}
	leave()
	return g, nil
}

// greet sends the payload and refuses a guest that is not as it was ordered.
func (g *guest) greet(ctx context.Context, payload []byte, o order) error {
	r, e, spec := g.runtime, g.engine, o.spec
	if err := g.handshake(ctx, payload); err != nil {
		return err
	}
	if !atLeast39(g.hello.python) {
		return e.unavailable("image-python", "starting Python in a container",
			fmt.Errorf("image %q has Python %s", r.opts.Image, g.hello.python),
			"Set `sandbox.image` to an image that has python3 3.9 or later on its PATH.")
	}
	if err := r.fits(spec.Packages, g.hello.python); err != nil {
		return err
	}
	if err := g.beside(spec.Policy); err != nil {
		return err
	}
	if i := g.hello.replaced; i >= 0 && i < len(spec.Mounts) {
		return &sandbox.MountError{Runtime: e.name, Path: spec.Mounts[i].Host, Err: sandbox.ErrReplaced}
	}
	if i := g.hello.closed; i >= 0 && i < len(spec.Mounts) {
		return g.closedTo(spec.Mounts[i], o.user)
	}
	return nil
}

// beside refuses a guest of a pod that could take over what is started beside it there: a pod has no network only by
// the system call filter, which such a process is without.
func (g *guest) beside(p sandbox.Policy) error {
	if g.engine.name != Kubernetes {
		return nil
	}
	why := ""
	switch {
	case !g.hello.fenced:
		why = "there is no Landlock on the node, or its runtime forbids it, without which"
	case g.hello.reach != "":
		why = "with " + g.hello.reach + " of the image or the pod, which names a folder that guests write to,"
	default:
		return nil
	}
	gap := sandbox.Gap{
		Name:   "network",
		Detail: why + " a guest could reach the network of its pod by way of a process that codemode starts beside it",
	}
	if !slices.Contains(p.AllowGaps, gap.Name) {
		return &sandbox.GapError{Runtime: Kubernetes, Gaps: []sandbox.Gap{gap}}
	}
	g.means.Gaps = append(slices.Clip(g.means.Gaps), gap)
	return nil
}

// fits refuses packages that the image's Python cannot import: half of them would work, and nobody could tell which.
func (r *Runtime) fits(packages sandbox.Packages, version string) error {
	parts := append(strings.SplitN(version, ".", 3), "")
	has := "cpython-" + parts[0] + parts[1]
	if packages.Host == "" || has == packages.ABI {
		return nil
	}
	return &sandbox.PackagesError{Runtime: r.name, Has: has, Want: packages.ABI, Remedy: []string{
		"use an image of the same Python (sandbox.image), or --runtime native",
	}}
}

// user is whom a container runs as. RLIMIT_NPROC counts what a user has in all containers of a user namespace, which
// rootless ones share, and pods their node's: where it is the limit, each container gets a nobody of its own, or it
// would starve others.
func (r *Runtime) user(means sandbox.Enforcement) string {
	if means.Pids != byRlimit || r.opts.User != Nobody {
		return r.opts.User
	}
	return fmt.Sprintf("%d:65534", 10_000+rand.IntN(50_000)) // beyond the users of images
}

func atLeast39(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major > 3 || major == 3 && minor >= 9)
}

const (
	// startTime bounds a start whose engine answers all the while: on a machine that is busy it takes seconds.
	startTime = 30 * time.Second

	// slowStart is when a start is slow enough to ask whether the engine answers at all.
	slowStart = 3 * time.Second

	// settleTime is how long the engine's command may go on when nothing comes from its container any more.
	settleTime = 5 * time.Second
)

var errStartTime = fmt.Errorf("it did not start within %v", startTime)

// handshake sends the payload and waits for the init's greeting, or for a reason why there will be none.
func (g *guest) handshake(ctx context.Context, payload []byte) error {
	g.tasks.Go(func() { _, _ = g.channel.Write(payload) }) // who does not read it does not greet
	var hello greeting                                     // to be read once greeted has said that it is there
	greeted := make(chan error, 1)
	g.tasks.Go(func() {
		var err error
		hello, err = readGreeting(g.channel)
		greeted <- err
	})
	limit := time.NewTimer(startTime)
	defer limit.Stop()
	slow := time.NewTimer(slowStart)
	defer slow.Stop()
	pulse := make(chan error, 1)
	for {
		select {
		case err := <-greeted:
			if err == nil {
				g.hello = hello
				g.greeted.Store(true)
				return nil
			}
			return g.noGreeting(err)
		case <-ctx.Done():
			return fmt.Errorf("starting a container: %w", context.Cause(ctx))
		case <-slow.C:
			g.tasks.Go(func() { pulse <- g.engine.heartbeat(ctx) })
		case err := <-pulse:
			if err != nil {
				return g.engine.diagnose("starting a container", err)
			}
		case <-limit.C:
			return g.engine.unavailable("no-answer", "starting a container", errStartTime,
				g.engine.remedy())
		}
	}
}

// heartbeat asks for the least an engine can answer.
func (e *engine) heartbeat(ctx context.Context) error {
	least := []string{"version", "--format", "{{.Client.Version}}"}
	if e.name == Kubernetes {
		least = []string{"get", "--raw", "/version"}
	}
	_, err := e.ask(ctx, least...)
	return err
}

// noGreeting explains the end of a channel before anything was said on it.
func (g *guest) noGreeting(err error) error {
	settle := time.NewTimer(settleTime)
	defer settle.Stop()
	end := g.gone
	if g.engine.name == Kubernetes {
		end = g.done // a pod that is to be removed takes longer
	}
	select {
	case <-end: // what the command said says why
	case <-settle.C:
		return g.engine.unavailable("image-python", "starting Python in a container", err)
	}
	if g.engine.name == Kubernetes {
		return g.engine.diagnose("starting Python in a pod",
			&commandError{command: "kubectl exec", stderr: string(g.said.chatter), code: 1})
	}
	said := string(g.said.chatter)
	for _, lost := range noChannel {
		if strings.Contains(said, lost) {
			return fmt.Errorf("%w: %s", errNoChannel, lastLines(said))
		}
	}
	code := g.cmd.ProcessState.ExitCode()
	if code == -1 || code == killedCode || code == 128+int(syscall.SIGTERM) { // the command, or the container
		return g.engine.ended(g.said.chatter, code)
	}
	failed := &commandError{command: g.engine.name + " run", code: code, stderr: said}
	if code != 125 && code != 126 && code != 127 && code != 0 {
		return g.engine.unavailable("image-python", "starting Python in a container", failed,
			"Set `sandbox.image` to an image that has python3 3.9 or later on its PATH.")
	}
	return g.engine.diagnose("starting a container", failed)
}

// noChannel is what boot.py says without a channel, and what engines say of a directory that they do not see.
var noChannel = []string{
	"codemode: no channel", "bind source path does not exist", "mounts denied", "not shared from the host",
	"invalid mount config",
}

var _ sandbox.Sandbox = (*guest)(nil)

// run starts the engine's command with the pipes a container needs.
func (g *guest) run(o order) (err error) {
	var theirs, ours []*os.File
	defer func() {
		closeFiles(theirs)
		if err != nil {
			closeFiles(ours)
			if g.channel != nil {
				g.channel.Close()
			}
		}
	}()
	ends, err := openPipes(o.way)
	for i, e := range ends {
		r, w := e[0], e[1]
		if i == 0 {
			theirs, ours = append(theirs, r), append(ours, w)
		} else {
			theirs, ours = append(theirs, w), append(ours, r)
		}
	}
	if err != nil {
		return err
	}
	g.stdin, g.stderr = ends[0][1], ends[2][0]
	var passed []*os.File
	var waits *awaited
	switch o.way {
	case viaStreams:
		g.channel, g.bootArg = stream{ends[1][0], ends[0][1]}, "fd:3:4:5:6"
	case viaDescriptor:
		s, end, err := newSocket()
		if err != nil {
			return err
		}
		g.channel, g.bootArg = s, "fd:3:4:5"
		theirs, passed = append(theirs, end), []*os.File{end}
	case viaSocket:
		if waits, err = openSocket(g.engine.owner); err != nil {
			return err
		}
		g.channel, g.bootArg = waits, "fd:3:4:5"
		o.binds = append(o.binds, bind{source: waits.inner, target: socketDir})
	}
	g.cmd = g.engine.command(g.engine.args(o)...)
	g.cmd.Stdin, g.cmd.Stderr, g.cmd.ExtraFiles = ends[0][0], ends[2][1], passed
	if o.way == viaStreams {
		g.cmd.Stdout = ends[1][1]
	}
	if err := g.cmd.Start(); err != nil {
		return err
	}
	if waits != nil {
		waits.accepting = true
		g.tasks.Go(waits.accept)
	}
	g.accompany()
	return nil
}

// openPipes opens the pipes, both ends of each, that are the standard streams of the engine's command. Of standard
// output there is one only where that is the channel. Those before an error are open.
func openPipes(w way) (ends [3][2]*os.File, err error) {
	for i := range ends {
		if i == 1 && w != viaStreams {
			continue
		}
		ends[i][0], ends[i][1], err = os.Pipe()
		if err != nil {
			return ends, err
		}
	}
	return ends, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
