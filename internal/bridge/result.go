package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"codemode/internal/toon"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// payload is a result's structured form: contract.md's fields, only those that are not empty.
type payload struct {
	Status         Status          `json:"status,omitempty"`
	Summary        string          `json:"summary,omitempty"`
	ExitCode       int             `json:"exitCode,omitempty"`
	Servers        []string        `json:"servers,omitempty"`
	Stdout         []string        `json:"stdout,omitempty"`
	Stderr         []string        `json:"stderr,omitempty"`
	Result         json.RawMessage `json:"result,omitempty"`
	Error          string          `json:"error,omitempty"`
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

// CallToolResult is the outcome as MCP carries it, in the given output mode.
func (o Outcome) CallToolResult(mode string) *mcp.CallToolResult {
	p := o.payload()
	text := ""
	switch mode {
	case "toon":
		text = "```toon\n" + Visible(toonText(p)) + "\n```"
	case "json":
		text = VisibleJSON(string(mustJSON(p)))
	default:
		text = o.compact()
		if o.Status == StatusSuccess && (len(p.Stdout) > 0 || len(p.Stderr) > 0 || p.Result != nil) {
			p.Status, p.Summary = "", ""
		}
	}
	result := &mcp.CallToolResult{IsError: o.Status != StatusSuccess, StructuredContent: p}
	result.Content = append(result.Content, &mcp.TextContent{Text: text})
	for _, img := range o.Images {
		result.Content = append(result.Content, &mcp.ImageContent{MIMEType: img.MIME, Data: img.Data})
	}
	return result
}

// JSON is the whole outcome as one JSON object.
func (o Outcome) JSON() []byte { return mustJSON(o.payload()) }

func (o Outcome) payload() payload {
	p := payload{
		Status: o.Status, Summary: o.summary(), ExitCode: o.ExitCode, Servers: o.Servers,
		Stdout: lines(o.render("stdout", o.Stdout)), Stderr: lines(o.render("stderr", o.Stderr)),
		Result: o.Value, Error: o.errorText(), TimeoutSeconds: o.Timeout.Seconds(),
		Notes: clipNotes(o.Notes),
	}
	if o.Session != defaultSession {
		p.Session = o.Session
	}
	if len(p.Result) > maxValue || deep(p.Result) {
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
				Stream: t.stream, Bytes: t.text.Total, LeftOut: t.text.Omitted(), Lost: t.text.Lost, URI: o.uri(t.stream, t.text),
			})
		}
	}
	return p
}

// returned is how many bytes of what the code has made go to the client.
func (p payload) returned(images []Image) int64 {
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
	return Visible(clip(text[strings.LastIndexByte(text, '\n')+1:], maxNote))
}

// errorText is what ended the run, and what that means for the next one.
func (o Outcome) errorText() string {
	text := Visible(clip(o.Error, maxText))
	if o.Lost {
		text += "; the session's variables are lost"
	}
	return text
}

func (o Outcome) reprText() string { return Visible(clip(o.Repr, maxText)) }

// compact is the text of contract.md: only what there is, in a fixed order.
func (o Outcome) compact() string {
	var parts []string
	if o.Status != StatusSuccess {
		parts = append(parts, "status: "+string(o.Status))
	}
	if o.ExitCode != 0 {
		parts = append(parts, fmt.Sprintf("exit: %d", o.ExitCode))
	}
	if s := o.render("stdout", o.Stdout); s != "" {
		parts = append(parts, strings.TrimSuffix(s, "\n"))
	}
	if s := o.render("stderr", o.Stderr); s != "" {
		parts = append(parts, "stderr:\n"+strings.TrimSuffix(s, "\n"))
	}
	if o.Repr != "" {
		parts = append(parts, "result: "+o.reprText())
	}
	if text := o.errorText(); text != "" {
		parts = append(parts, "error: "+text)
	}
	parts = append(parts, o.Effects.Lines()...)
	for _, n := range clipNotes(o.Notes) {
		parts = append(parts, "note: "+n)
	}
	if len(parts) == 0 {
		return "success"
	}
	return strings.Join(parts, "\n")
}

// render is a stream as text: all of it, or head, what was left out, and tail.
func (o Outcome) render(stream string, t Text) string {
	if !t.Cut() {
		return Visible(string(t.Head))
	}
	where := ""
	if uri := o.uri(stream, t); uri != "" {
		where = "; the whole is the resource " + uri
	}
	if t.Lost > 0 {
		where += fmt.Sprintf(" (its last %d bytes were not kept)", t.Lost)
	}
	gap := fmt.Sprintf("[… %d bytes, %d lines left out%s …]", t.Omitted(), t.Lines, where)
	head := Visible(string(t.Head))
	if !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + gap + "\n" + Visible(string(t.Tail))
}

func (o Outcome) uri(stream string, t Text) string {
	if t.spill == nil {
		return ""
	}
	return outputURI(o.Session, o.Run, stream)
}

// Visible writes what a terminal or a parser might act on as Python would: \x1b, \r, \u2028. Newline and tab stay.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !hidden(r) || r == utf8.RuneError:
			b.WriteString(s[i : i+n])
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// VisibleJSON writes the same characters as JSON's own escapes; they only stand in its strings.
func VisibleJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) || r == utf8.RuneError {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// hidden reports whether a character would not be seen as itself: control characters, line separators, marks that
// reorder text (Unicode TR 36), characters without width, fillers, tags and the variation selectors beyond the 16th, in
// which text can hide, and what is not UTF-8. The joiners U+200C and U+200D and the first selectors stay: scripts and
// emoji are written with them.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
		return true
	case r == 0x200c || r == 0x200d:
		return false
	}
	return r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x2069 ||
		r == 0xad || r == 0x061c || r == 0x115f || r == 0x1160 || r == 0x180e || r == 0x3164 || r == 0xfeff || r == 0xffa0 ||
		r >= 0xfff0 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe0fff
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// toonText is the payload as TOON, or as JSON where indentation would blow up a value nested by malice.
func toonText(p payload) string {
	data := mustJSON(p)
	text, err := toon.Encode(data, toon.Options{MaxSize: 2*len(data) + 64<<10})
	if err != nil {
		return string(data)
	}
	return string(text)
}

// mustJSON encodes what codemode itself made.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only a value of a type JSON has no form for
	}
	return b
}
