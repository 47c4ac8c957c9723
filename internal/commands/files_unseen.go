package commands

import (
	"fmt"
	"path/filepath"
	"strings"

	"codemode/internal/hint"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/mount"
)

// maxSecretsTold is how many files of a folder are told one by one.
const maxSecretsTold = 5

// secretsIn is what in the folders that code is shown it does not see, and its user might look for; or what it does
// see, where nothing can be covered or not all was looked through.
func (t *tenancy) secretsIn(mounts []sandbox.Mount) (list []error) {
	bare := t.config.Sandbox.Isolation == string(sandbox.IsolationReduced)
	for _, m := range mounts {
		var ignored []sandbox.Cover
		told := 0
		for _, c := range m.Covered {
			switch path := mount.At(m, c); {
			case c.Ignored:
				ignored = append(ignored, c)
			case told == maxSecretsTold:
			case bare:
				list = append(
					list, fmt.Errorf("code sees %q, which looks like a secret: give it a folder without that", path),
				)
				told++
			default:
				show := "--file "
				if c.Dir {
					show = "--mount "
				}
				list = append(list, hint.New(
					fmt.Sprintf("code does not see %q, which looks like a secret", path),
					"to show it: "+show+hint.Word(path),
				))
				told++
			}
		}
		if n := len(m.Covered) - len(ignored) - told; n > 0 {
			list = append(list, fmt.Errorf("nor %d more files in %q that look like secrets", n, m.Host))
		}
		if len(ignored) > 0 {
			list = append(list, ignoredIn(m, ignored, bare))
		}
		if m.Partly != "" {
			list = append(list, hint.New(
				fmt.Sprintf("code may see secrets in %q: %s", m.Host, m.Partly),
				"give code a smaller folder",
			))
		}
	}
	return list
}

// ignoredIn tells of what .gitignore files in a folder name.
func ignoredIn(m sandbox.Mount, ignored []sandbox.Cover, bare bool) error {
	var names []string
	for _, c := range ignored[:min(len(ignored), 3)] {
		names = append(names, quote(filepath.FromSlash(c.Path)))
	}
	if more := len(ignored) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	what := strings.Join(names, ", ")
	if bare {
		return fmt.Errorf("code sees what .gitignore leaves out of %q: %s", m.Host, what)
	}
	flag := "--file "
	if ignored[0].Dir {
		flag = "--mount "
	}
	return hint.New(
		fmt.Sprintf("code does not see what .gitignore leaves out of %q: %s", m.Host, what),
		"to show one, name it: "+flag+hint.Word(mount.At(m, ignored[0])),
	)
}
