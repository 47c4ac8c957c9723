package install

import (
	"fmt"
	"os"
	"path/filepath"

	"codemode/internal/clientcfg/splice"
	"codemode/internal/fileerr"
	"codemode/internal/plainfile"
)

// SwitchOwn switches a server on or off in a file of codemode's own, of whose other bytes none changes.
func SwitchOwn(path, name string, on bool) error {
	return changeOwn(path, name, func(doc *splice.Document, key []string) ([]byte, error) {
		if on {
			return doc.Drop(key, "disabled", "enabled")
		}
		return doc.Set(key, []splice.Member{{Key: "disabled", Value: true}})
	})
}

// RenameOwn gives a server of such a file another name, and the file, too, where to is another path. What is there
// already is not written over.
func RenameOwn(path, name, as, to string) error {
	if to != path {
		if _, err := os.Lstat(to); err == nil {
			return fmt.Errorf("%q is there already", to)
		}
	}
	err := changeOwn(path, name, func(doc *splice.Document, key []string) ([]byte, error) {
		raw, _ := doc.Raw(key)
		table := key[:len(key)-1]
		without, err := doc.Remove(key, false)
		if err != nil {
			return nil, err
		}
		if doc, err = splice.Parse(without, splice.JSONC); err != nil {
			return nil, err
		}
		return doc.SetRaw(append(table[:len(table):len(table)], as), raw)
	})
	if err != nil || to == path {
		return err
	}
	return fileerr.Cause(os.Rename(path, to))
}

// changeOwn edits the entry of a server in the file's table of servers.
func changeOwn(path, name string, edit func(doc *splice.Document, key []string) ([]byte, error)) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fileerr.Cause(err)
	}
	data, err := plainfile.Read(path, splice.MaxSize)
	if err != nil {
		return fileerr.Cause(err)
	}
	doc, err := splice.Parse(data, splice.JSONC)
	if err != nil {
		return err
	}
	for _, table := range [][]string{{"mcpServers"}, {"servers"}, {}} {
		key := append(table[:len(table):len(table)], name)
		if _, ok := doc.Raw(key); !ok {
			continue
		}
		out, err := edit(doc, key)
		if err != nil {
			return err
		}
		return (&Installer{}).put(path, out)
	}
	return fmt.Errorf("it has no server %q", name)
}
