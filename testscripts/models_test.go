package testscripts

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// seeScript runs a real client against a model on loopback that calls run_python once, and prints what the client hands
// that model: judges/model/see, of whoever has it beside this repository.
var seeScript, _ = filepath.Abs("../../shared/judges/model/see")

// modelSees prints what a client's model sees of a run of a file's code: the text, and [image] for an image. What the
// client itself puts around it is left out.
func modelSees(args []string) int {
	fs := flag.NewFlagSet("model-sees", flag.ContinueOnError)
	servers := fs.String("servers", "", "servers `FILE` of codemode serve, whatever environment the client gives it")
	if fs.Parse(args) != nil {
		return 2
	}
	text, err := modelSeesOf(fs.Args(), *servers)
	if err != nil {
		fmt.Fprintln(os.Stderr, "model-sees:", err)
		return 1
	}
	fmt.Println(text)
	return 0
}

func modelSeesOf(args []string, servers string) (text string, err error) {
	if len(args) != 2 {
		return "", errors.New("usage: model-sees [-servers FILE] CLIENT FILE")
	}
	code, err := os.ReadFile(args[1])
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "sees-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	codemode, err := codemodeWith(dir, servers)
	if err != nil {
		return "", err
	}
	log, err := keepLog(dir)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join(dir, "see"), args[0], string(code), codemode)
	cmd.Env = append(os.Environ(), "CLIENTS="+os.Getenv("NPM"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	text = seen(args[0], bytes.TrimSuffix(out, []byte("\n")))
	if sent, err := os.ReadFile(log); err == nil && args[0] == "opencode" &&
		bytes.Contains(sent, []byte(`"image_url"`)) {
		text += "\n[image]" // in a message of its own
	}
	return text, nil
}

// codemodeWith is a program that is codemode with these servers.
func codemodeWith(dir, servers string) (string, error) {
	self, err := exec.LookPath("codemode")
	if err != nil || servers == "" {
		return self, err
	}
	if servers, err = filepath.Abs(servers); err != nil {
		return "", err
	}
	script := fmt.Sprintf("#!/bin/sh\nMCP_SERVERS_CONFIG='%s' exec '%s' \"$@\"\n", servers, self)
	name := filepath.Join(dir, "codemode-with-servers")
	return name, os.WriteFile(name, []byte(script), 0o755)
}

// keepLog makes dir a place to start the script from whose model's log stays there, and whose OpenCode believes that
// its model reads images.
func keepLog(dir string) (log string, err error) {
	see := os.Getenv("SEE")
	script, err := os.ReadFile(see)
	if err != nil {
		return "", err
	}
	const blind, seeing = `{"m":{"name":"m"}}`, `{"m":{"name":"m","attachment":true,"modalities":{"input":["text","image"],"output":["text"]}}}`
	script = bytes.ReplaceAll(script, []byte(blind), []byte(seeing))
	log = filepath.Join(dir, "log")
	model := fmt.Sprintf(
		"#!/bin/sh\nln -s '%s' \"$3\"\nexec '%s' \"$@\"\n", log, filepath.Join(filepath.Dir(see), "fakemodel"),
	)
	return log, errors.Join(
		os.WriteFile(log, nil, 0o600),
		os.WriteFile(filepath.Join(dir, "fakemodel"), []byte(model), 0o755),
		os.WriteFile(filepath.Join(dir, "see"), script, 0o755),
	)
}

// seen is the text of a result in a client's own form, as of November 2026.
func seen(client string, result []byte) string {
	var blocks []struct {
		Type, Text string
	}
	var wrapped struct{ Output string }
	switch {
	case json.Unmarshal(result, &blocks) == nil: // Claude Code, Codex
		var parts []string
		for i, b := range blocks {
			switch {
			case client == "codex" && i == 0: // its own line about the time it took
			case b.Text != "":
				parts = append(parts, b.Text)
			default:
				parts = append(parts, "[image]")
			}
		}
		return strings.Join(parts, "\n")
	case json.Unmarshal(result, &wrapped) == nil: // Gemini CLI
		text := strings.TrimPrefix(wrapped.Output, "<untrusted_context>\n")
		text, images, _ := strings.Cut(text, "\n</untrusted_context>")
		return text + strings.Repeat("\n[image]", strings.Count(images, "provided the following image data"))
	}
	return string(result) // OpenCode, which gives images in a message of their own
}
