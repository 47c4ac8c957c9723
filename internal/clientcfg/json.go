package clientcfg

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"codemode/internal/clientcfg/jsonc"
	"codemode/internal/clientcfg/textpos"
)

// largeFile is the size from which most of a file is passed over: ~/.claude.json grows to tens of MB of
// history, of which the servers are some lines.
const largeFile = 256 << 10

// verdict says what becomes of a member.
type verdict int

const (
	drop verdict = iota // it is there, and nothing is known of its value
	keepIt
	lookInside // and judge its members
)

// parseJSON reads JSON with comments and trailing commas, and notes them where the client itself would not. Of a large
// file, only what keep wants is looked at.
func (f *file) parseJSON(data []byte) (node, place, error) {
	r := jsonReader{text: data, keep: f.keep}
	root, err := r.read(data, len(data) > largeFile)
	if err == nil { // most large files are plain as they are
		return root, place{}, nil
	}
	plain, extras := jsonc.Plain(data)
	if f.client.Strict && len(extras) > 0 {
		f.problem(
			r.place(extras[0].Start), "",
			fmt.Errorf("%s rejects files with comments or trailing commas", f.client.Title),
		)
	}
	if textpos.IsBlank(plain) {
		return node{}, place{}, errEmpty
	}
	if root, err = r.read(plain, len(data) > largeFile); err != nil {
		at, reason := jsonc.Explain(data, err)
		return node{}, r.place(at), errors.New(reason)
	}
	return root, place{}, nil
}

// jsonReader makes nodes of a text while it is read.
type jsonReader struct {
	text   []byte
	keep   func(path []string) verdict
	d      jsonc.Decoder
	cursor cursor
}

func (r *jsonReader) place(at int) place { return r.cursor.place(at) }

func (r *jsonReader) read(plain []byte, large bool) (node, error) {
	r.d = jsonc.NewDecoder(plain, 0, len(plain))
	r.cursor = cursor{data: r.text}
	what := keepIt
	if large {
		what = lookInside
	}
	root, err := r.value(nil, what)
	return root, cmp.Or(err, r.d.End())
}

func (r *jsonReader) value(path []string, what verdict) (n node, err error) {
	kind := r.d.PeekKind()
	if what != drop && (kind == '{' || kind == '[') {
		return r.inside(kind == '{', path, what)
	}
	start, end, err := r.d.Next()
	if err != nil || what == drop {
		return n, err
	}
	n.place = r.place(start)
	switch text := r.text[start:end]; kind {
	case '"':
		n.value = jsonc.Unquote(text)
	case '0':
		n.value = json.Number(text)
	case 't', 'f':
		n.value = kind == 't'
	}
	return n, nil
}

// inside reads an object or a list.
func (r *jsonReader) inside(isObject bool, path []string, what verdict) (n node, err error) {
	at, err := r.d.Bracket()
	if err != nil {
		return n, err
	}
	n.place = r.place(at)
	var o object
	var l list
	for kind := r.d.PeekKind(); kind != '}' && kind != ']'; kind = r.d.PeekKind() {
		var item node
		if isObject {
			err = r.member(&o, path, what)
		} else if item, err = r.value(nil, keepIt); err == nil {
			l.items = append(l.items, item)
		}
		if err != nil {
			return n, err
		}
	}
	if n.value = &l; isObject {
		n.value = &o
	}
	_, err = r.d.Bracket()
	return n, err
}

func (r *jsonReader) member(o *object, path []string, what verdict) error {
	start, end, err := r.d.Next()
	if err != nil {
		return err
	}
	m := member{name: jsonc.Unquote(r.text[start:end]), place: r.place(start)}
	if what == lookInside {
		path = append(path, m.name)
		what = r.keep(path)
	}
	m.value, err = r.value(path, what)
	o.members = append(o.members, m)
	return err
}
