package inquiry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/visible"
)

// What a server may show to a user, in bytes.
const (
	maxMessageShown = 4 << 10
	maxFormShown    = 64 << 10
	maxURLShown     = 4 << 10
)

// Presentable is what a server asks, as a user may be shown it: it says which server asks, and has no characters that
// are not seen or rearrange others. tool is empty where nobody knows which call it is.
func Presentable(server, tool string, request Request) (Request, error) {
	asked, ok := request.(*mcp.ElicitParams)
	if !ok {
		return request, nil // by its protocol it is the client that shows what its model is asked
	}
	p := *asked
	call := "a call"
	if tool != "" {
		call += " of its " + visible.Name(tool)
	}
	p.Message = fmt.Sprintf(
		"The server %s asks this in the middle of %s:\n%s",
		visible.Name(server), call, visible.Text(visible.Clip(p.Message, maxMessageShown)),
	)
	if isURL(&p) {
		p.Mode, p.RequestedSchema = "url", nil
		if err := checkURL(p.URL); err != nil {
			return nil, err
		}
		p.ElicitationID = ID(server, p.ElicitationID)
		return &p, nil
	}
	if p.Mode != "form" && p.Mode != "" {
		return nil, fmt.Errorf("there is no elicitation of mode %.60q", p.Mode)
	}
	p.Mode, p.ElicitationID = "form", ""
	schema, _ := p.RequestedSchema.(json.RawMessage)
	if len(schema) == 0 {
		return nil, errors.New(`its form has no "requestedSchema"`)
	}
	shown, err := presentableForm(schema)
	p.RequestedSchema = shown
	return &p, err
}

// A SignInPage is where a user signs in, and what they type there, where that is wanted.
type SignInPage struct {
	Address   string
	Code      string // may be empty; Authority is the host that asks for it
	Authority string
	Warning   string // what they must know before; may be empty
}

// SignIn asks a user to sign in at a server by URL, on a page; command is how it is done in a terminal.
func SignIn(server string, page SignInPage, command, id string) (Request, error) {
	if err := checkURL(page.Address); err != nil {
		return nil, err
	}
	u, err := url.Parse(page.Address)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(
		"The server %s wants its user to sign in; what waits for that goes on then.\nThe page is one of %s.",
		visible.Name(server), visible.Line(u.Host),
	)
	if page.Code != "" {
		text += fmt.Sprintf("\nThe authorization server %s asks to have a code typed there.", visible.Line(page.Authority))
		if page.Warning != "" {
			text += "\nWARNING: " + visible.Line(page.Warning) + " If you do not know why, say no."
		}
		text += fmt.Sprintf("\nType this code there: %s", visible.Line(page.Code))
	}
	text += "\nWith a browser on another machine: " + command
	return &mcp.ElicitParams{Mode: "url", Message: text, URL: page.Address, ElicitationID: ID(server, id)}, nil
}

// ToOpen is what a client must be able to ask for it.
func ToOpen() Request { return &mcp.ElicitParams{Mode: "url"} }

// checkURL decides whether a URL can be shown so that a user sees where it leads.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("what its user is to open is no http or https URL")
	case u.User != nil:
		return errors.New("the URL that its user is to open has a user's name in it, which hides where it leads")
	case len(text) > maxURLShown:
		return fmt.Errorf("the URL that its user is to open has more than %d bytes", maxURLShown)
	case strings.ContainsFunc(text+u.Host, func(r rune) bool { return r <= ' ' || r >= 0x7f }): // also if written by %
		return errors.New("the URL that its user is to open has characters that no URL has")
	}
	return nil
}

// proseOf are the members of a form's schema that are only read; their values may be written in another way.
var proseOf = map[string]bool{"title": true, "description": true, "enumNames": true}

// refersBy are the members by which a schema refers to another, or to itself: whoever judges an answer by it could be
// kept busy for good.
var refersBy = map[string]bool{"$ref": true, "$dynamicRef": true, "$recursiveRef": true}

// presentableForm is a form's schema whose texts are seen as they are, its members in their order. A text that is sent
// back, such as a field's name or one of its values, cannot be written otherwise: a form with a hidden one is refused.
func presentableForm(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) > maxFormShown {
		return nil, fmt.Errorf("its form has more than %d bytes", maxFormShown)
	}
	b, err := appendPresentable(nil, gjson.ParseBytes(schema), false)
	return b, err
}

func appendPresentable(b []byte, v gjson.Result, prose bool) ([]byte, error) {
	switch {
	case v.IsObject():
		return appendMembers(b, v)
	case v.IsArray():
		b = append(b, '[')
		for i, item := range v.Array() {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendPresentable(b, item, prose); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case v.Type == gjson.String:
		return appendText(b, v.Str, prose)
	}
	return append(b, v.Raw...), nil
}

func appendMembers(b []byte, v gjson.Result) (_ []byte, err error) {
	b = append(b, '{')
	seen := map[string]bool{}
	v.ForEach(func(key, value gjson.Result) bool {
		if seen[key.Str] {
			err = fmt.Errorf("its form has two members %q", key.Str)
			return false
		}
		if refersBy[key.Str] {
			err = fmt.Errorf("its form has a %s, and MCP's forms are flat", key.Str)
			return false
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen[key.Str] = true
		if b, err = appendText(b, key.Str, false); err == nil {
			b, err = appendPresentable(append(b, ':'), value, proseOf[key.Str])
		}
		return err == nil
	})
	return append(b, '}'), err
}

func appendText(b []byte, text string, prose bool) ([]byte, error) {
	if prose {
		text = visible.Text(text)
	} else if visible.Text(text) != text {
		return nil, fmt.Errorf("its form has characters that are not seen, in %s", visible.Name(text))
	}
	return jsontext.AppendQuote(b, text)
}
