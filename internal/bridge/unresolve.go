package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"

	"codemode/internal/guest"

	"github.com/go-json-experiment/json/jsontext"
)

// sentPaths are the paths that servers were given in a session. From then on the words stand for them in all that
// servers say to its code and its client, in every call.
type sentPaths struct {
	mu     sync.Mutex
	folder string             // of all the paths
	begins *regexp.Regexp     // a path as JSON may spell it, up to its name, with its ID as the group; nil with no path
	paths  map[string]spelled // by the artifact's ID
}

// spelled is what remains of a path behind its ID.
type spelled struct {
	word string
	name *regexp.Regexp
}

// add notes that a server is given a path, below a folder that is named after the artifact's ID.
func (g *sentPaths) add(id, path, word string) error {
	folder, name, ok := strings.Cut(path, string(filepath.Separator)+id+string(filepath.Separator))
	if !ok {
		return fmt.Errorf("artifact %q is in no folder of its name", id)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	separator := spellings(string(filepath.Separator))
	if g.begins == nil {
		const letters = `((?:[a-z2-7]|\\u00[0-9A-Fa-f]{2}){12})`
		begins, err := regexp.Compile(spellings(folder) + separator + letters + separator)
		if err != nil {
			return err
		}
		g.folder, g.begins, g.paths = folder, begins, map[string]spelled{}
	}
	if _, known := g.paths[id]; known {
		return nil
	}
	pattern, err := regexp.Compile("^" + spellings(name))
	if err == nil {
		g.paths[id] = spelled{word, pattern}
	}
	return err
}

// any reports whether there is any path to look for.
func (g *sentPaths) any() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.begins != nil
}

// unresolve puts words in the place of paths, in what a server says. A text may have JSON in it, with paths in escapes.
func (g *sentPaths) unresolve(text string) string {
	g.mu.Lock()
	folder, begins := g.folder, g.begins
	g.mu.Unlock()
	if begins == nil || !strings.Contains(text, folder) && !strings.Contains(text, `\`) {
		return text
	}
	var to strings.Builder
	for {
		at := begins.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		id, _ := jsontext.AppendUnquote(nil, `"`+text[at[2]:at[3]]+`"`)
		g.mu.Lock()
		path, known := g.paths[string(id)]
		g.mu.Unlock()
		var name []int
		if known {
			name = path.name.FindStringIndex(text[at[1]:])
		}
		if name == nil {
			to.WriteString(text[:at[1]])
			text = text[at[1]:]
			continue
		}
		to.WriteString(text[:at[0]])
		to.WriteString(path.word)
		text = text[at[1]+name[1]:]
	}
	to.WriteString(text)
	return to.String()
}

// unresolveJSON is unresolve for the strings of a JSON value. All other bytes stay as they were sent.
func (g *sentPaths) unresolveJSON(value json.RawMessage) json.RawMessage {
	if len(value) == 0 || !g.any() {
		return value
	}
	from := jsontext.NewDecoder(
		bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	)
	var to []byte
	last := 0
	for {
		if from.PeekKind() != '"' {
			if _, err := from.ReadToken(); err != nil { // the end, or what no reader of JSON makes anything of
				break
			}
			continue
		}
		raw, err := from.ReadValue()
		if err != nil {
			break
		}
		end := int(from.InputOffset())
		text, _ := jsontext.AppendUnquote(nil, raw)
		with := g.unresolve(string(text))
		if with == string(text) {
			continue
		}
		to = append(to, value[last:end-len(raw)]...)
		if to, err = jsontext.AppendQuote(to, with); err != nil {
			break
		}
		last = end
	}
	if last == 0 {
		return value
	}
	return append(to, value[last:]...)
}

// unresolveRefusal is unresolve for an error.
func (g *sentPaths) unresolveRefusal(no *refusal) {
	no.message = g.unresolve(no.message)
	no.data.Stderr, no.data.Hint = g.unresolve(no.data.Stderr), g.unresolve(no.data.Hint)
	no.data.Data = g.unresolveJSON(no.data.Data)
}

// repeats reports whether the answer to a request says what a server has said.
func repeats(method string) bool {
	switch method {
	case guest.MethodToolCall, guest.MethodRequest, guest.MethodUpdates, guest.MethodServer, guest.MethodSearch:
		return true
	}
	return false
}

// spellings is a pattern of all that a string of JSON may have in the place of a text.
func spellings(text string) string {
	var pattern strings.Builder
	for _, r := range text {
		pattern.WriteString("(?:" + regexp.QuoteMeta(string(r)) + `|(?i:`)
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&pattern, `\\u%04x`, unit)
		}
		pattern.WriteString(")")
		quoted, err := jsontext.AppendQuote(nil, string(r))
		if short := strings.Trim(string(quoted), `"`); err == nil && len(short) == 2 && short[0] == '\\' {
			pattern.WriteString("|" + regexp.QuoteMeta(short))
		}
		if r == '/' || r == '"' {
			pattern.WriteString(`|\\` + string(r))
		}
		pattern.WriteString(")")
	}
	return pattern.String()
}
