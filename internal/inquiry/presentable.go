//lint:file-ignore SA1019 sampling is deprecated since MCP 2026-07-28, and servers of today use it

package inquiry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp/syntax"
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
	maxHostShown    = 300 // a name of the DNS has 253 at most (RFC 1035, section 3.1)
)

// Presentable is what a server asks, as a user may be shown it: it says which server asks, and has no characters that
// are not seen or rearrange others. tool is empty where nobody knows which call it is.
func Presentable(server, tool string, request Request) (Request, error) {
	if sampling, ok := request.(*mcp.CreateMessageWithToolsParams); ok {
		p := *sampling
		p.IncludeContext = "" // "thisServer" would be codemode, with what code had from all others
		return &p, nil        // by its protocol it is the client that shows what its model is asked
	}
	asked, ok := request.(*mcp.ElicitParams)
	if !ok {
		return request, nil
	}
	call := "a call"
	if tool != "" {
		call += " of its " + visible.Name(tool)
	}
	p := &mcp.ElicitParams{Message: fmt.Sprintf( // with what is judged below, and nothing else
		"The server %s asks this in the middle of %s:\n%s",
		visible.Name(server), call, visible.Text(visible.Clip(asked.Message, maxMessageShown)),
	)}
	if isURL(asked) {
		p.Mode, p.URL, p.ElicitationID = "url", asked.URL, ID(server, asked.ElicitationID)
		if err := checkURL(p.URL); err != nil {
			return nil, err
		}
		return p, nil
	}
	if asked.Mode != "form" && asked.Mode != "" {
		return nil, fmt.Errorf("there is no elicitation of mode %.60q", asked.Mode)
	}
	schema, _ := asked.RequestedSchema.(json.RawMessage)
	if len(schema) == 0 {
		return nil, errors.New(`its form has no "requestedSchema"`)
	}
	shown, err := presentableForm(schema)
	if err == nil {
		err = checkForm(shown)
	}
	p.Mode, p.RequestedSchema = "form", shown
	return p, err
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
	case err != nil || u.Host == "" || len(u.Host) > maxHostShown || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("what its user is to open is no http or https URL")
	case u.User != nil:
		return errors.New("the URL that its user is to open has a user's name in it, which hides where it leads")
	case visible.OddAddress(u.Hostname()):
		return errors.New("the URL that its user is to open spells an address in another way than usual")
	case len(text) > maxURLShown:
		return fmt.Errorf("the URL that its user is to open has more than %d bytes", maxURLShown)
	case strings.ContainsFunc(text+u.Host, inNoURL): // also if written by %
		return errors.New("the URL that its user is to open has characters that no URL has")
	}
	return nil
}

// inNoURL tells characters that RFC 3986 has in no URL.
func inNoURL(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\\<>\"|^`{}", r) }

// A part is what a form's schema consists of.
type part int

const (
	data   part = iota // a value, which is sent back as it is
	prose              // a text that is only read, and may be written in another way
	whole              // of the whole form
	fields             // by their names
	field
	options // of a field's values
	option
)

// membersOf are the members of a form's parts, by MCP (ElicitRequestFormParams of revision 2025-11-25): others are left
// out, for whoever judges an answer could be kept busy by them for good.
var membersOf = map[part]map[string]part{
	whole: {"type": data, "title": prose, "description": prose, "properties": fields, "required": data},
	field: {
		"type": data, "title": prose, "description": prose, "default": data, "format": data, "minLength": data,
		"maxLength": data, "pattern": data, "minimum": data, "maximum": data, "enum": data, "enumNames": prose,
		"oneOf": options, "anyOf": options, "items": field, "minItems": data, "maxItems": data,
	},
	option: {"const": data, "title": prose, "description": prose},
}

// presentableForm is a form's schema whose texts are seen as they are, its members in their order. A text that is sent
// back, such as a field's name or one of its values, cannot be written otherwise: a form with a hidden one is refused.
func presentableForm(text json.RawMessage) (json.RawMessage, error) {
	if len(text) > maxFormShown {
		return nil, fmt.Errorf("its form has more than %d bytes", maxFormShown)
	}
	f := form{}
	err := f.value(gjson.ParseBytes(text), whole)
	return f.text, err
}

// A form is a schema as far as it has been written.
type form struct {
	text  []byte
	steps int // of its patterns
}

func (f *form) value(v gjson.Result, of part) (err error) {
	switch {
	case v.IsObject():
		return f.members(v, of)
	case v.IsArray():
		if of == options {
			of = option
		}
		f.text = append(f.text, '[')
		for i, item := range v.Array() {
			if i > 0 {
				f.text = append(f.text, ',')
			}
			if err := f.value(item, of); err != nil {
				return err
			}
		}
		f.text = append(f.text, ']')
	case v.Type == gjson.String:
		return f.quote(v.Str, of == prose)
	default:
		f.text = append(f.text, v.Raw...)
	}
	return nil
}

func (f *form) members(v gjson.Result, of part) (err error) {
	f.text = append(f.text, '{')
	seen := map[string]bool{}
	v.ForEach(func(key, value gjson.Result) bool {
		inner, known := membersOf[of][key.Str]
		switch {
		case of == fields:
			inner, known = field, true
		case of == data || of == prose:
			inner, known = of, true
		case key.Str == "$ref":
			err = errors.New("its form has a $ref, and MCP's forms are flat")
		case key.Str == "pattern" && value.Type == gjson.String:
			err = f.pattern(value.Str)
		}
		if seen[key.Str] {
			err = fmt.Errorf("its form has two members %q", key.Str)
		}
		if err != nil || !known {
			return err == nil
		}
		if len(seen) > 0 {
			f.text = append(f.text, ',')
		}
		seen[key.Str] = true
		if err = f.quote(key.Str, false); err == nil {
			f.text = append(f.text, ':')
			err = f.value(value, inner)
		}
		return err == nil
	})
	f.text = append(f.text, '}')
	return err
}

func (f *form) quote(text string, prose bool) (err error) {
	if prose {
		text = visible.Text(text)
	} else if visible.Text(text) != text || strings.ContainsFunc(text, visible.Blank) {
		return fmt.Errorf("its form has characters that are not seen, in %s", visible.Name(text))
	}
	f.text, err = jsontext.AppendQuote(f.text, text)
	return err
}

// What the patterns of a form may be, in bytes of each, and in steps of all for each character of an answer that is
// judged by them.
const (
	maxPattern = 1000
	maxSteps   = 2000
)

// pattern refuses one that takes long to judge answers by. What is no pattern to Go is none to checkForm.
func (f *form) pattern(text string) error {
	if len(text) <= maxPattern {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil
		}
		if program, err := syntax.Compile(re.Simplify()); err == nil {
			f.steps += len(program.Inst)
		}
		if f.steps <= maxSteps {
			return nil
		}
	}
	return fmt.Errorf("the patterns of its form take too long to match, as with %.60q", text)
}
