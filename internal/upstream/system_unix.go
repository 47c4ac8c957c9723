//go:build unix

package upstream

import (
	"fmt"
	"os"
)

// systemNames are the variables this system adds to baseNames.
var systemNames = []string{"__CF_USER_TEXT_ENCODING", "DOCKER_CONTEXT", "DOCKER_HOST"}

func setEnv(env map[string]string, name, value string) { env[name] = value }

func homeDir(lookup func(string) (string, bool)) (string, bool) { return lookup("HOME") }

// executable returns the path when it is a program.
func executable(path string, _ map[string]string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", noCommandError(fmt.Sprintf("command %q does not exist", path))
	case info.IsDir():
		return "", fmt.Errorf("command %q is a directory", path)
	case info.Mode()&0o111 == 0:
		return "", fmt.Errorf("command %q is not executable", path)
	}
	return path, nil
}
