package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
)

// SwitchOwn switches a server on or off in a file of codemode's own, of whose other bytes none changes.
func (i *Installer) SwitchOwn(ctx context.Context, path, name string, on bool) error {
	return i.changeOwn(ctx, path, name, func(doc *splice.Document, key []string) ([]byte, error) {
		if on {
			return doc.Drop(key, "disabled", "enabled")
		}
		return doc.Set(key, []splice.Member{{Key: "disabled", Value: true}})
	}, nil)
}

// RenameOwn gives a server of such a file another name, and the file, too, where to is another path. What is there
// already is not written over.
func (i *Installer) RenameOwn(ctx context.Context, path, name, as, to string) error {
	move := func() error { return fileerr.Cause(os.Rename(path, to)) }
	if to == path {
		move = nil
	}
	return i.changeOwn(ctx, path, name, func(doc *splice.Document, key []string) ([]byte, error) {
		table := key[:len(key)-1]
		renamed := append(table[:len(table):len(table)], as)
		if _, ok := doc.Raw(renamed); ok {
			return nil, fmt.Errorf("it has a server %q already", as)
		}
		if _, err := os.Lstat(to); to != path && err == nil {
			return nil, fmt.Errorf("%q is there already", to)
		}
		raw, _ := doc.Raw(key)
		without, err := doc.Remove(key, false)
		if err != nil {
			return nil, err
		}
		if doc, err = splice.Parse(without, splice.JSONC); err != nil {
			return nil, err
		}
		return doc.SetRaw(renamed, raw)
	}, move)
}

// RemoveOwn removes a file of codemode's own that holds one server, of that name, and nothing else, not even a comment.
func (i *Installer) RemoveOwn(ctx context.Context, path, name string) error {
	lock, err := i.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	f, err := open(path)
	if err != nil {
		return err
	}
	_, err = editOwn(f.data, name, func(doc *splice.Document, key []string) ([]byte, error) {
		without, err := doc.Remove(key, true)
		if err != nil {
			return nil, err
		}
		rest, err := parse(without, splice.JSONC)
		if err == nil {
			about := []string{"$schema", "client", "description"} // the server, too
			err = rest.apply(rest.RemoveAll(nil, about, false))
		}
		if err == nil && !hollow(rest) {
			err = errors.New("it holds more than that server")
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fileerr.Cause(os.Remove(path)) // the link is what is in the folder of servers
	}
	return i.remove(f)
}

// changeOwn edits the entry of a server in the file's table of servers: under the lock, from what the file is at that
// moment, and again where another program wrote in between. Then, under the lock still, comes what is to come after it.
func (i *Installer) changeOwn(
	ctx context.Context, path, name string, edit func(doc *splice.Document, key []string) ([]byte, error),
	after func() error,
) error {
	lock, err := i.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	for range attempts {
		f, err := open(path)
		if err != nil {
			return err
		}
		data, err := editOwn(f.data, name, edit)
		if err != nil {
			return err
		}
		switch err := i.replace(f, data, private); {
		case errors.Is(err, errChanged):
			continue
		case err != nil || after == nil:
			return err
		}
		return after()
	}
	return errBusy
}

// editOwn edits the entry of a server, in whichever table of servers the text has it.
func editOwn(data []byte, name string, edit func(*splice.Document, []string) ([]byte, error)) ([]byte, error) {
	doc, err := splice.Parse(data, splice.JSONC)
	if err != nil {
		return nil, err
	}
	for _, table := range [][]string{{"mcpServers"}, {"servers"}, {}} {
		key := append(table[:len(table):len(table)], name)
		if _, ok := doc.Raw(key); !ok {
			continue
		}
		if _, err := doc.Entries(key); err != nil { // of two of a name one would be lost
			return nil, err
		}
		return edit(doc, key)
	}
	return nil, fmt.Errorf("it has no server %q", name)
}
