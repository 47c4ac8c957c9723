package bridge

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"codemode/internal/artifact"
	"codemode/internal/fileerr"
	"codemode/internal/guest"
)

const (
	// referencePrefix begins what code gives to a tool in the place of an artifact's path. What follows is the ID, and
	// what nobody can guess: a text that comes from elsewhere is never taken for one.
	referencePrefix = "codemode-artifact:"
	// maxReferences is how many a session may have, and how often the arguments of one call may have one.
	maxReferences = 1000
)

var errManyReferences = fmt.Errorf("its arguments have more than %d references to artifacts", maxReferences)

// reference is the word for an artifact's path, the same for all of a session.
func (l *live) reference(a artifact.Artifact) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for word, id := range l.references {
		if id == a.ID {
			return word, nil
		}
	}
	if len(l.references) >= maxReferences {
		return "", fmt.Errorf("a session may give %d to tools", maxReferences)
	}
	if l.references == nil {
		l.references = map[string]string{}
	}
	word := referencePrefix + a.ID + ":" + strings.ToLower(rand.Text())
	l.references[word] = a.ID
	return word, nil
}

// referred is the ID of the artifact that a text refers to.
func (l *live) referred(text string) (id string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, ok = l.references[text]
	return id, ok
}

// resolve puts paths in the place of the references in a call's arguments, before anybody judges, shows, logs or sends
// them. Only a program on this machine that may read the user's files can do anything with one.
func (l *live) resolve(c guest.ToolCall) (guest.ToolCall, *refusal) {
	if _, may := l.mayCall(c.Server); !may || !bytes.Contains(c.Arguments, []byte(referencePrefix)) {
		return c, nil
	}
	found := 0
	paths := map[string]string{} // by the words of this call: each artifact is looked for once
	resolved, err := guest.ReplaceTexts(c.Arguments, func(text string) (path string, err error) {
		id, ok := l.referred(text)
		if !ok {
			return text, nil
		}
		if found++; found > maxReferences {
			return "", errManyReferences
		}
		if path, ok = paths[text]; !ok {
			path, err = l.pathFor(c.Server, id, text)
			paths[text] = path
		}
		return path, err
	})
	if err != nil {
		data := guest.ErrorData{Server: c.Server, Tool: c.Tool}
		return c, refuse(-32602, err.Error()+"; the call was not made", data)
	}
	if found > 0 {
		c.Arguments, c.Written = resolved, c.Arguments
	}
	return c, nil
}

// pathFor is the path of an artifact for a server that can read it, which is given it in the place of a word.
func (l *live) pathFor(server, id, word string) (string, error) {
	if err := l.reads(server); err != nil {
		return "", err
	}
	a, err := l.bridge.opts.Artifacts.Get(id)
	if err != nil {
		return "", fmt.Errorf("artifact %q: %w", id, fileerr.Cause(err))
	}
	path := l.bridge.opts.Artifacts.Path(a)
	if !utf8.ValidString(path) {
		return "", errors.New("the folder of artifacts has a name that is not UTF-8")
	}
	return path, l.sentPaths.add(id, path, word)
}

// reads says why a server cannot read a file of this machine by its path.
func (l *live) reads(name string) error {
	const instead = ": give it what artifacts.open(id) reads"
	server, _ := l.bridge.servers.Find(name)
	switch {
	case server.URL != "":
		return fmt.Errorf("server %q is reached by its URL, and reads no file of this machine%s", name, instead)
	case l.bridge.opts.Config.Servers.RestrictionsOf(server) != nil:
		return fmt.Errorf("server %q runs in a sandbox, which has no artifacts%s", name, instead)
	}
	return nil
}
