package install

import (
	"bytes"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
	"codemode/internal/config"
	"codemode/internal/lazyregexp"
	"codemode/internal/redact"
)

// isComment is where a comment may be, that of several lines included.
var isComment = lazyregexp.New(`//|#|\*|^.\s*[^"\s{}\[\]]`)

const maxLine = 160 // of a line in a diff: some clients keep all they know on one

// diff shows what changes, without secrets.
func diff(before, after []byte, path string, format splice.Format) string {
	h := hider{shown: splice.Diff(before, after, path), judged: map[named]bool{}}
	text := splice.Diff(h.hide(before, format), h.hide(after, format), path)
	var out strings.Builder
	for line := range strings.Lines(h.secrets.Redactor().Text(text)) {
		if isComment().MatchString(line) { // which no member has told of
			line = (&redact.Finder{}).Text(line)
		}
		if runes := []rune(strings.TrimSuffix(line, "\n")); len(runes) > maxLine {
			line = string(runes[:maxLine-1]) + "…\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// hider hides values that are secrets where they stand in a file, however it writes them, and notes them: comments may
// have them, too. Only what is shown is looked at: some files are large.
type hider struct {
	shown   string
	secrets redact.Secrets
	judged  map[named]bool // whether it is a secret
}

// named is a text and the name of its member.
type named struct{ name, text string }

func (h *hider) isSecret(name, text string) bool {
	is, known := h.judged[named{name, text}]
	if !known {
		is = clientcfg.IsSecret(name, text)
		h.judged[named{name, text}] = is
	}
	return is
}

func (h *hider) hide(data []byte, format splice.Format) []byte {
	doc, err := splice.Parse(data, format)
	if err != nil {
		return data
	}
	texts := doc.Texts()
	var args []string // of one list, where one may say that the next is a secret
	for n, x := range texts {
		if x.Item {
			args = append(args, x.Value)
		}
		if n == len(texts)-1 || !texts[n+1].Item || texts[n+1].Name != x.Name {
			h.secrets.Add(clientcfg.Secrets(config.Server{Args: args})...)
			args = nil
		}
	}
	known := h.secrets.Redactor()
	var out bytes.Buffer
	at := 0
	for _, x := range texts {
		raw := data[x.Start:x.End]
		switch {
		case x.Start < at || !h.shows(raw):
			continue
		case !x.Item && h.isSecret(x.Name, x.Value):
			h.secrets.Add(x.Value)
		case !x.Item || bytes.Contains(raw, []byte(x.Value)) || known.Text(x.Value) == x.Value:
			continue // what is secret in it is found in the line that it is on
		}
		out.Write(data[at:x.Start])
		writeHidden(&out, raw)
		at = x.End
	}
	return append(out.Bytes(), data[at:]...)
}

// shows says whether a line of a text may be among those that are shown.
func (h *hider) shows(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && strings.Contains(h.shown, string(line)) {
			return true
		}
	}
	return false
}

// writeHidden writes a value without what it says, in its quotes and on as many lines.
func writeHidden(out *bytes.Buffer, raw []byte) {
	inner := bytes.TrimLeft(raw, `"'`)
	out.Write(raw[:len(raw)-len(inner)])
	end := inner[len(bytes.TrimRight(inner, `"'`)):]
	for line := range bytes.Lines(inner[:len(inner)-len(end)]) {
		text := bytes.TrimSpace(line)
		if len(text) > 0 {
			line = bytes.Replace(line, text, []byte(redact.Mask), 1)
		}
		out.Write(line)
	}
	out.Write(end)
}
