package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codemode/internal/guest"
	"codemode/internal/hint"
	"codemode/internal/toon"
	"codemode/internal/visible"
)

// Payload is the structured result of run_python (structuredContent). Empty fields are left out.
type Payload struct {
	Status         Status          `json:"status,omitempty"`
	Summary        string          `json:"summary,omitempty"`
	ExitCode       int             `json:"exitCode,omitempty"`
	Servers        []string        `json:"servers,omitempty"`
	Stdout         []string        `json:"stdout,omitempty"`
	Stderr         []string        `json:"stderr,omitempty"`
	Result         json.RawMessage `json:"result,omitempty"`
	Error          string          `json:"error,omitempty"`
	Hints          []string        `json:"hints,omitempty"`
	TimeoutSeconds float64         `json:"timeoutSeconds,omitempty"`
	Truncated      []truncated     `json:"truncated,omitempty"`
	Notes          []string        `json:"notes,omitempty"`
	Session        string          `json:"session,omitempty"`
	Effects        *Effects        `json:"effects,omitempty"`
	Receipt        *Receipt        `json:"receipt,omitempty"`
}

// truncated says what of a stream was left out, and where it can be read.
type truncated struct {
	Stream  string `json:"stream"`
	Bytes   int64  `json:"bytes"` // the stream had
	LeftOut int64  `json:"leftOut"`
	Lost    int64  `json:"lost,omitempty"` // not even kept
	URI     string `json:"uri,omitempty"`
}

// Reply is an outcome as a client gets it: its text in the given output.mode (compact, toon or json), and its
// structured form. mcpserver adds the images.
func (o Outcome) Reply(mode string) (text string, p Payload) {
	p = o.payload()
	defer func() { p.Result = visible.Values(p.Result) }() // some clients show their model that, and not the text
	switch mode {
	case "toon":
		return "```toon\n" + visible.Text(toonText(p)) + "\n```", p
	case "json":
		return visible.JSON(string(mustJSON(p))), p
	}
	if o.Status == StatusSuccess && (len(p.Stdout) > 0 || len(p.Stderr) > 0 || p.Result != nil) {
		p.Status, p.Summary = "", ""
	}
	return o.compact(), p
}

// JSON is the whole outcome as one JSON object.
func (o Outcome) JSON() []byte { return mustJSON(o.payload()) }

func (o Outcome) payload() Payload {
	p := Payload{
		Status: o.Status, Summary: o.summary(), ExitCode: o.ExitCode, Servers: o.Servers,
		Stdout: lines(o.render("stdout", o.Stdout)), Stderr: lines(o.render("stderr", o.Stderr)),
		Result: o.Value, Error: o.errorText(), Hints: o.hints(), TimeoutSeconds: o.Timeout.Seconds(),
		Notes: clipNotes(o.Notes),
	}
	if o.Session != defaultSession {
		p.Session = o.Session
	}
	if len(p.Result) > maxValue || guest.Deeper(p.Result, maxDepth) {
		p.Result = nil
	}
	if p.Result == nil && o.Repr != "" {
		p.Result = mustJSON(o.reprText())
	}
	if len(o.Effects.Done)+len(o.Effects.Unanswered) > 0 {
		p.Effects = &o.Effects
	}
	if o.Receipt.Runtime != "" {
		p.Receipt = &o.Receipt
		p.Receipt.ReturnedBytes = p.returned(o.Images)
	}
	for _, t := range []struct {
		stream string
		text   Text
	}{{"stdout", o.Stdout}, {"stderr", o.Stderr}} {
		if t.text.Cut() {
			p.Truncated = append(p.Truncated, truncated{
				Stream: t.stream, Bytes: t.text.Total, LeftOut: t.text.Omitted(), Lost: t.text.Lost,
				URI: o.uri(t.stream, t.text),
			})
		}
	}
	return p
}

// returned is how many bytes of what the code has made go to the client.
func (p Payload) returned(images []Image) int64 {
	n := len(p.Result) + len(p.Error)
	for _, line := range slices.Concat(p.Stdout, p.Stderr) {
		n += len(line) + 1
	}
	for _, img := range images {
		n += len(img.Data)
	}
	return int64(n)
}

// summary is one line: what the outcome was.
func (o Outcome) summary() string {
	if o.Status == StatusSuccess {
		return "success"
	}
	if o.Error == "" {
		return fmt.Sprintf("exit code %d", o.ExitCode)
	}
	text := strings.TrimRight(o.Error, "\n")
	if o.Status == StatusTimeout || o.Status == StatusCancelled { // what follows is where it was stopped
		text, _, _ = strings.Cut(text, "\n")
	}
	return visible.Text(visible.Clip(text[strings.LastIndexByte(text, '\n')+1:], maxNote))
}

// errorText is what ended the run, and what that means for the next one.
func (o Outcome) errorText() string {
	text := visible.Text(visible.Clip(o.Error, maxText))
	if o.Lost {
		text += "; the session's variables are lost"
	}
	return text
}

// hints are what to do where codemode could not run the code.
func (o Outcome) hints() []string { return clipNotes(hint.Of(o.Err)) }

func (o Outcome) reprText() string { return visible.Text(visible.Clip(o.Repr, maxText)) }

// compact is the text of output.mode = "compact": a line for each field that is not empty, in a fixed order.
func (o Outcome) compact() string {
	var parts []string
	if o.Status != StatusSuccess {
		parts = append(parts, "status: "+string(o.Status))
	}
	if o.ExitCode != 0 {
		parts = append(parts, fmt.Sprintf("exit: %d", o.ExitCode))
	}
	cut := o.whereCut()
	parts = append(parts, cut...)
	if s := o.render("stdout", o.Stdout); s != "" {
		parts = append(parts, strings.TrimSuffix(s, "\n"))
	}
	if s := o.render("stderr", o.Stderr); s != "" {
		parts = append(parts, "stderr:\n"+strings.TrimSuffix(s, "\n"))
	}
	if o.Repr != "" {
		parts = append(parts, "result:"+ownLine(o.reprText()))
	}
	if text := o.errorText(); text != "" {
		parts = append(parts, "error: "+text)
	}
	for _, h := range o.hints() {
		parts = append(parts, "hint: "+h)
	}
	parts = append(parts, o.Effects.Lines()...)
	for _, n := range clipNotes(o.Notes) {
		parts = append(parts, "note: "+n)
	}
	parts = append(parts, cut...)
	if len(parts) == 0 {
		return "success"
	}
	return strings.Join(parts, "\n")
}

// ownLine begins a text of several lines on one of its own: the columns of a table are below each other.
func ownLine(text string) string {
	if strings.Contains(text, "\n") {
		return "\n" + text
	}
	return " " + text
}

// render is a stream as text: all of it, or head, what was left out, and tail.
func (o Outcome) render(stream string, t Text) string {
	if !t.Cut() {
		return visible.Text(string(t.Head))
	}
	gap := fmt.Sprintf("[… %d bytes, %d lines of %s left out …]", t.Omitted(), t.Lines, stream)
	head := visible.Text(string(t.Head))
	if !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + gap + "\n" + visible.Text(string(t.Tail))
}

// whereCut says where the whole of what was cut is. It stands before and behind the output: Codex cuts the middle of a
// long result once more (about 12,000 bytes are left), OpenCode all but its beginning (2,000 lines); seen in November
// 2026.
func (o Outcome) whereCut() (notes []string) {
	for _, s := range []struct {
		stream string
		text   Text
	}{{"stdout", o.Stdout}, {"stderr", o.Stderr}} {
		uri := o.uri(s.stream, s.text)
		if !s.text.Cut() || uri == "" {
			continue
		}
		note := fmt.Sprintf("note: %s is cut; the whole is the resource %s", s.stream, uri)
		if s.text.Lost > 0 {
			note += fmt.Sprintf(" (its last %d bytes were not kept)", s.text.Lost)
		}
		if !o.Lost {
			note += "; better: assign what is large to a variable, and print a part of it"
		}
		notes = append(notes, note)
	}
	return notes
}

func (o Outcome) uri(stream string, t Text) string {
	if t.spill == nil {
		return ""
	}
	return outputURI(o.Session, o.Run, stream)
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// toonText is the payload as TOON, or as JSON where indentation would blow up a value nested by malice.
func toonText(p Payload) string {
	data := mustJSON(p)
	text, err := toon.Encode(data, toon.Options{MaxSize: 2*len(data) + 64<<10})
	if err != nil {
		return string(data)
	}
	return string(text)
}

// mustJSON encodes what codemode itself made. It is no part of a page, where < and & would have to be escaped.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only a value of a type JSON has no form for
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// outputURI names a kept output as a resource.
func outputURI(session string, run int, stream string) string {
	return fmt.Sprintf("codemode://output/%s/%d/%s", session, run, stream)
}
