package testscripts

import (
	"bytes"
	"encoding/json"
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
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: model-sees CLIENT FILE")
		return 2
	}
	code, err := os.ReadFile(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "model-sees:", err)
		return 2
	}
	self, err := exec.LookPath("codemode")
	if err != nil {
		fmt.Fprintln(os.Stderr, "model-sees:", err)
		return 2
	}
	cmd := exec.Command(os.Getenv("SEE"), args[0], string(code), self)
	cmd.Env = append(os.Environ(), "CLIENTS="+os.Getenv("NPM"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "model-sees:", err)
		return 1
	}
	fmt.Println(seen(args[0], bytes.TrimSuffix(out, []byte("\n"))))
	return 0
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
