package upstream

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// systemNames are the variables this system adds to baseNames: what the TypeScript SDK hands on
// (getDefaultEnvironment in 1.32.2), and others that tell programs where things are.
var systemNames = []string{
	"ALLUSERSPROFILE", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS",
	"OS", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PUBLIC",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
}

// setEnv knows that names differ in more than their case here.
func setEnv(env map[string]string, name, value string) { env[strings.ToUpper(name)] = value }

func homeDir(lookup func(string) (string, bool)) (string, bool) { return lookup("USERPROFILE") }

// executable returns the file that the path, with or without its extension, names.
func executable(path string, env map[string]string) (string, error) {
	extensions := filepath.SplitList(env["PATHEXT"])
	if len(extensions) == 0 {
		extensions = []string{".COM", ".EXE", ".BAT", ".CMD"}
	}
	candidates := []string{}
	if filepath.Ext(path) != "" {
		candidates = append(candidates, path)
	}
	for _, x := range extensions {
		candidates = append(candidates, path+x)
	}
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && !info.IsDir() {
			return c, nil
		}
	}
	return "", noCommandError(fmt.Sprintf("command %q does not exist", path))
}
