package commands

import (
	"fmt"
	"os"
	"path/filepath"

	"codemode/internal/clientcfg"
	"codemode/internal/plainfile"
	"codemode/internal/sandbox/mount"
)

// programs are what is executed by names or paths: the files, and the interpreters that scripts among them name.
func (t *tenancy) programs(by string, look func(string) (string, error), names ...string) (list []mount.Start) {
	for _, name := range names {
		if name == "" {
			continue
		}
		path, err := look(name)
		if err != nil {
			continue
		}
		list = append(append(list, mount.Start{Path: path, By: by}), t.codeAround(path, by)...)
		list = append(list, t.interpreters(by, look, path)...)
	}
	return list
}

// variableStarts are what variables of codemode's own name for other programs: folders of code, files, and programs.
func (t *tenancy) variableStarts() (list []mount.Start) {
	for _, name := range clientcfg.CodeVariables() {
		by := fmt.Sprintf("what your %s names", name)
		var found []mount.Start
		for _, word := range clientcfg.CodePaths("", nil, map[string]string{name: t.env.get(name)}) {
			found = append(found, t.programs(by, lookPath(t.env), word)...)
			if filepath.IsAbs(word) {
				found = append(found, t.startsAt(word, "", by, true, true)...)
			}
		}
		for _, s := range found {
			s.Links = false // much of it is no code, in which links would be followed instead of servers'
			s.Within = s.Within && !mount.Shared(s.Path)
			s.Modules = s.Modules && name != "PYTHONSTARTUP" // it imports nothing from where it lies
			list = append(list, s)
		}
	}
	return list
}

// firstLines is how many scripts are followed, each the interpreter of the one before; Linux executes no more
// (BINPRM_MAX_RECURSION is 5; fs/exec.c).
const firstLines = 5

// interpreters are the programs that a script's first line names, with what it tells them to look for code in.
func (t *tenancy) interpreters(by string, look func(string) (string, error), script string) (list []mount.Start) {
	scripts := []string{script}
	for range firstLines {
		var next []string
		for _, script := range scripts {
			words := plainfile.Shebang(script)
			for _, word := range words { // of env, the one that it looks for
				if found, err := look(word); err == nil {
					list = append(append(list, mount.Start{Path: found, By: by}), t.codeAround(found, by)...)
					next = append(next, found)
				}
			}
			for _, path := range codeOf(words) {
				list = append(list, t.startsAt(path, filepath.Dir(script), by, true, true)...)
			}
		}
		scripts = next
	}
	return list
}

// codeOf are the folders of code that a first line names.
func codeOf(words []string) (list []string) {
	if len(words) == 0 {
		return nil
	}
	list = clientcfg.CodePaths(words[0], words[1:], nil)
	for _, word := range words[1:] {
		_, code := clientcfg.PathsWithin(word)
		list = append(list, code...)
	}
	return list
}

// credentialVariables name files and folders of credentials, or several.
var credentialVariables = []string{
	"KUBECONFIG", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "REGISTRY_AUTH_FILE", "AWS_SHARED_CREDENTIALS_FILE",
	"AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG",
	"AZURE_CONFIG_DIR", "GNUPGHOME", "PASSWORD_STORE_DIR", "GH_CONFIG_DIR", "NETRC", "PGPASSFILE",
	"NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE",
}

// credentials are what variables of codemode's own name of them.
func (t *tenancy) credentials() (list []string) {
	for _, name := range credentialVariables {
		for _, path := range filepath.SplitList(t.env.get(name)) {
			if path != "" && path != os.DevNull {
				list = append(list, absolute(t.env, path))
			}
		}
	}
	return list
}
