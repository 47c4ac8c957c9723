package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"codemode/internal/config"
	"codemode/internal/guest"
	"codemode/internal/toolbox"
	"codemode/internal/visible"
)

// uses resolves the tools of servers that a saved tool names, with what they take and return now where that is known.
// ask, where it is not nil, is told of each server first, so that it can be known.
func (b *Bridge) uses(named [][2]string, ask func(config.Server)) (uses []toolbox.Use) {
	for _, n := range named {
		u := toolbox.Use{Server: visible.Clip(n[0], visible.MaxName), Tool: visible.Clip(n[1], visible.MaxName)}
		if c, ok := b.servers.Find(n[0]); ok {
			if ask != nil {
				ask(c)
			}
			u.Server = c.Name
			if tool, _, found := b.servers.RecalledTool(c, n[1]); found {
				u.Tool, u.Schema = tool.Name, schemaHash(tool)
			}
		}
		uses = append(uses, u)
	}
	return uses
}

// Remarks says what has changed about the servers' tools since a tool was saved. Nothing is started for it.
func (b *Bridge) Remarks(t toolbox.Tool) (remarks []string) {
	add := func(format string, args ...any) { remarks = append(remarks, fmt.Sprintf(format, args...)) }
	for _, name := range t.Needs {
		if _, err := b.saved.load(name); errors.Is(err, toolbox.ErrNone) {
			add("it calls the saved tool %q, which is not there any more", name)
		}
	}
	gone := map[string]bool{}
	for _, u := range t.Uses {
		c, ok := b.servers.Configured().Named(u.Server)
		if !ok {
			if !gone[u.Server] {
				add("it uses the server %q, which is not there now", u.Server)
			}
			gone[u.Server] = true
			continue
		}
		tool, listed, found := b.servers.RecalledTool(c, u.Tool)
		switch {
		case !listed: // nobody knows
		case !found:
			add("it uses %s, which the server does not have", visible.Call(u.Server, u.Tool))
		case u.Schema != "" && u.Schema != schemaHash(tool):
			add(
				"%s has changed since it was saved; it is now %s", visible.Call(u.Server, u.Tool),
				visible.Clip(tool.Signature, visible.MaxName),
			)
		}
	}
	return clipNotes(remarks)
}

// schemaHash names what a tool takes and returns, whatever is said about that.
func schemaHash(t guest.Tool) string {
	h := sha256.New()
	for _, schema := range []json.RawMessage{t.InputSchema, t.OutputSchema} {
		var v any
		d := json.NewDecoder(bytes.NewReader(schema))
		d.UseNumber()
		_ = d.Decode(&v) // what is no JSON means as little as none
		plain, err := json.Marshal(withoutWords(v))
		if err != nil {
			panic(err) // of what was JSON
		}
		fmt.Fprintf(h, "%d\n%s", len(plain), plain)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// withoutWords is a schema without the texts in it that are for people.
func withoutWords(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			_, isText := value.(string)
			switch {
			case isText && (key == "description" || key == "title" || key == "$comment"):
				delete(v, key)
			case key != "enum" && key != "const" && key != "default":
				v[key] = withoutWords(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutWords(v[i])
		}
	}
	return v
}
