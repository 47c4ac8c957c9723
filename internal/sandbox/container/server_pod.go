package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"codemode/internal/proc"
	"codemode/internal/sandbox"
)

// labelServer marks the pods of MCP servers, which have a network.
const labelServer = "codemode.server"

// waitCode is process 1 of a server's pod: whoever ends it ends the server.
const waitCode = `trap 'kill -TERM -1; sleep 1; exit 0' TERM; sleep 86400 & wait`

// serverStart is where the pod's memory has what a server is started with, until it is.
const serverStart = sandbox.GuestDir + "/start"

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
		p := &serverPod{runtime: r, engine: &own, name: newName(), memory: memory}
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
	cmd     *exec.Cmd
}

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
	write := p.engine.inPod(p.name, "sh", "-c", "umask 077; cat >"+serverStart)
	if _, err := p.engine.feed(ctx, []byte(startScript(spec)), nil, write...); err != nil {
		return p.engine.given(ctx, "starting a server in its pod", err)
	}
	p.cmd = p.engine.command(p.engine.inPod(p.name, "sh", serverStart)...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = streams[0], streams[1], streams[2]
	return p.cmd.Start()
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
	return "rm " + serverStart + "\n" + strings.Join(words, " ") + "\ncode=$?\nkill 1\nexit $code\n"
}

// quoted is a word as sh takes it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// manifest is that of a guest's pod, with what a server must have beside it, and without what a guest is started by.
func (p *serverPod) manifest(image string) (object, error) {
	policy := sandbox.DefaultPolicy()
	policy.Memory, policy.CPUs = p.memory, 0
	pod, err := p.engine.pod(order{
		name: p.name, image: image, user: p.runtime.opts.User, spec: sandbox.Spec{Session: "server", Policy: policy},
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

// Pid is kubectl's.
func (p *serverPod) Pid() int { return p.cmd.Process.Pid }

// Wait returns when the server's streams have ended and its pod is removed, or as good as.
func (p *serverPod) Wait() error {
	_ = p.cmd.Wait() // its state says more than the error
	code := p.cmd.ProcessState.ExitCode()
	if code == 0 {
		p.runtime.work.Go(func() { p.remove(true) }) // its last process has ended
		return nil
	}
	exit := &proc.ExitError{Code: code, Reason: p.why(code)}
	p.remove(false)
	return exit
}

const killedCode = 128 + 9

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

// Terminate has the pod end, which asks the server to first.
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

// Kill ends the connection; Wait removes the pod.
func (p *serverPod) Kill()    { _ = p.cmd.Process.Kill() }
func (p *serverPod) Abandon() { p.Kill() }
func (p *serverPod) Close()   {}

func (p *serverPod) remove(ended bool) {
	if err := p.engine.removePod(context.Background(), p.name, ended); err != nil {
		p.runtime.log.Debug("removing a server's pod", "pod", p.name, "error", err)
		p.runtime.removeLater(p.engine, p.name)
	}
}
