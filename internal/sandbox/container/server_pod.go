package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/proc"
	"codemode/internal/sandbox"
)

// labelServer marks the pods of MCP servers, which have a network.
const labelServer = "codemode.server"

// limitProcesses has sh, and all below it, have no more processes than a program here, for good: a pod cannot be told a
// limit. Its user is its own, so that the kernel counts nobody else's. The option is -u or -p, which is another limit,
// that cannot be set, where -u is one. A limit that is already lower stays. It fails where sh knows neither.
var limitProcesses = fmt.Sprintf(
	`{ ulimit -u %[1]d || ulimit -p %[1]d || [ "$(ulimit -H -u || ulimit -H -p)" -le %[1]d ]; } 2>/dev/null`,
	sandbox.ProgramProcesses,
)

// waitCode is process 1 of a server's pod: whoever ends it ends the server. It is limited, too, for without a fence a
// server can have it do what it likes.
var waitCode = limitProcesses + `
trap 'kill -TERM -1; sleep 1; exit 0' TERM; sleep 86400 & wait`

const (
	// serverStart is where the pod's memory has what a server is started with, until it is.
	serverStart = sandbox.GuestDir + "/start"

	// serverInput is where the server has its input from.
	serverInput = sandbox.GuestDir + "/input"

	// inputGrace is how many seconds a server may go on when its input has ended, as it does with codemode: somebody
	// in the pod must end it then. It is as long as codemode itself takes to end one.
	inputGrace = 4
)

// relayInput hands the server its input, and ends the pod some time after that, at once where the server has taken all
// processes that sleep would be one of. No server's file has that other end.
var relayInput = fmt.Sprintf(`mkfifo %[1]s
exec 3<&0
{ trap 'kill 1' EXIT; cat <&3 >%[1]s; sleep %[2]d; } >/dev/null 2>&1 &
exec 3<&-
`, serverInput, inputGrace)

// Server returns what starts an MCP server in a pod of its own, as Kubernetes has it: with an image that has sh, and
// the cluster's network. Its streams are those of kubectl exec. What it is started with goes there over such a stream,
// too: neither the pod's spec, nor a command line, nor the API server's log may hold its secrets.
func (r *Runtime) Server(image string, memory int64) proc.Starter {
	return func(ctx context.Context, spec proc.Spec, streams [3]*os.File) (proc.Family, error) {
		e, err := r.ready(ctx)
		if err != nil {
			return nil, err
		}
		own := *e
		own.cluster.warmPool = "" // whose pods are guests'
		p := &serverPod{runtime: r, engine: &own, name: own.newName(), memory: memory}
		if p.memory <= 0 {
			p.memory = sandbox.DefaultProgramMemory
		}
		if err := p.start(ctx, image, spec, streams); err != nil {
			r.work.Go(func() { p.remove(false) })
			return nil, err
		}
		return p, nil
	}
}

// A serverPod is a server and its pod, as package proc sees them.
type serverPod struct {
	runtime *Runtime
	engine  *engine
	name    string
	memory  int64

	proc.Family // kubectl's, which ends with codemode, too
}

// Root is 0: kubectl alone is on this machine.
func (p *serverPod) Root() int { return 0 }

func (p *serverPod) start(ctx context.Context, image string, spec proc.Spec, streams [3]*os.File) error {
	pod, err := p.manifest(image)
	if err != nil {
		return err
	}
	if err := p.engine.create(ctx, pod); err != nil {
		return p.engine.given(ctx, "making a server's pod", err)
	}
	if _, err := p.engine.awaitPod(ctx, p.name); err != nil {
		return err
	}
	write := p.engine.inPod(p.name, "sh", "-c", "umask 077; cat >"+serverStart+" || exit\n"+
		limitProcesses+" && echo limited\n"+makeFence())
	said, err := p.engine.feed(ctx, []byte(startScript(spec)), nil, write...)
	if err != nil {
		return p.engine.given(ctx, "starting a server in its pod", err)
	}
	command, err := serverCommand(strings.Fields(said), p.runtime.opts.AllowGaps)
	if err != nil {
		return err
	}
	cmd := p.engine.command(p.engine.inPod(p.name, command...)...)
	own := proc.Spec{Path: cmd.Path, Args: cmd.Args[1:], Env: cmd.Env, Dir: cmd.Dir}
	p.Family, err = proc.Guarded(ctx, own, streams)
	return err
}

// serverCommand runs the script that starts a server, behind the fence. What the pod said of what can hold one is
// "limited" and "fenced".
func serverCommand(held, allowed []string) ([]string, error) {
	command := []string{"sh", "-c", `exec "$0" "$(command -v sh)" "$1"`, fencePath, serverStart}
	var gaps []sandbox.Gap
	if !slices.Contains(held, "limited") {
		gaps = append(gaps, sandbox.Gap{Name: "pids", Detail: "the image's sh has no `ulimit` for processes, without " +
			"which a server could take all that its node has"})
	}
	if !slices.Contains(held, "fenced") {
		command = []string{"sh", serverStart}
		gaps = append(gaps, sandbox.Gap{Name: "disk", Detail: "there is no Landlock on the node, or its runtime " +
			"forbids it, without which a server could write to files of the node's disk that its pod has " +
			"(/dev/termination-log, volumes of its image)"})
	}
	gaps = slices.DeleteFunc(gaps, func(g sandbox.Gap) bool { return slices.Contains(allowed, g.Name) })
	if len(gaps) > 0 {
		return nil, &sandbox.GapError{Runtime: Kubernetes, Gaps: gaps}
	}
	return command, nil
}

// startScript starts a server, and ends its pod behind it.
func startScript(spec proc.Spec) string {
	words := make([]string, 0, 4+len(spec.Env)+len(spec.Args))
	words = append(words, "env", quoted("HOME=/tmp"))
	for _, word := range spec.Env {
		words = append(words, quoted(word))
	}
	words = append(words, quoted(spec.Path))
	for _, word := range spec.Args {
		words = append(words, quoted(word))
	}
	return "rm " + serverStart + "\n" + limitProcesses + "\n" + relayInput +
		strings.Join(words, " ") + " <" + serverInput + "\ncode=$?\nkill 1\nexit $code\n"
}

// quoted is a word as sh takes it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// manifest is that of a guest's pod, with what a server must have beside it, and without what a guest is started by.
func (p *serverPod) manifest(image string) (object, error) {
	policy := sandbox.DefaultPolicy()
	policy.Memory, policy.CPUs = p.memory, 0
	pod, err := p.engine.pod(order{
		name: p.name, image: image, user: p.runtime.user(sandbox.Enforcement{Pids: byRlimit}),
		spec: sandbox.Spec{Session: "server", Policy: policy},
	})
	if err != nil {
		return nil, err
	}
	pod["metadata"].(object)["labels"].(object)[labelServer] = "yes"
	spec := pod["spec"].(object)
	for _, field := range []string{"hostname", "dnsPolicy", "dnsConfig"} {
		delete(spec, field) // it has the cluster's network
	}
	container := spec["containers"].([]object)[0]
	delete(container, "workingDir") // it has its image's
	delete(container, "env")
	container["command"] = []string{"sh", "-c", waitCode}
	return pod, nil
}

// Wait returns when the server's streams have ended and its pod is removed, or as good as.
func (p *serverPod) Wait() error {
	err := p.Family.Wait()
	exit, failed := errors.AsType[*proc.ExitError](err)
	if !failed {
		p.runtime.work.Go(func() { p.remove(true) }) // its last process has ended
		return err
	}
	exit.Reason = p.why(exit.Code)
	p.remove(false)
	return exit
}

// why says what the exit code does not.
func (p *serverPod) why(code int) string {
	text, err := p.engine.ask(context.Background(), "get", "pod", p.name, "--output=json")
	var state podState
	if failed, ok := errors.AsType[*commandError](err); ok && strings.Contains(failed.stderr, "NotFound") {
		return "its pod was deleted"
	}
	if err == nil && json.Unmarshal([]byte(text), &state) == nil {
		if why, _ := state.trouble(); why != "" && !strings.HasPrefix(why, "Completed") {
			return "its pod was ended: " + why
		}
	}
	if code == killedCode {
		return fmt.Sprintf("killed in its pod, which has %d MiB of memory (sandbox_memory)", p.memory>>20)
	}
	return ""
}

// Terminate has the pod end, which asks the server to first. Kill and Abandon end the connection; Wait removes the pod.
func (p *serverPod) Terminate() {
	p.runtime.work.Go(func() {
		_, err := p.engine.ask(context.Background(), "delete", "pod", p.name, "--ignore-not-found", "--wait=false",
			"--grace-period="+strconv.Itoa(serverGrace))
		if err != nil {
			p.runtime.log.Debug("ending a server's pod", "pod", p.name, "error", err)
		}
	})
}

// serverGrace is how many seconds a server has from SIGTERM to SIGKILL.
const serverGrace = 2

func (p *serverPod) remove(ended bool) {
	if err := p.engine.removePod(context.Background(), p.name, ended); err != nil {
		p.runtime.log.Debug("removing a server's pod", "pod", p.name, "error", err)
		p.runtime.removeLater(p.engine, p.name, 1)
	}
}
