package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"codemode/internal/bridge"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/toolbox"
	"codemode/internal/upstream"
)

// hintsFor says what to do about an error. Packages below return typed errors; this is the only place
// that knows what a user of the command line can do.
func hintsFor(err error) []string {
	var (
		usage       *usageError
		unavailable *sandbox.UnavailableError
		gap         *sandbox.GapError
		share       *container.ShareError
		interpreter *container.InterpreterError
		server      *bridge.UnknownServerError
		start       *upstream.StartError
		key         *config.UnknownKeyError
		variable    *config.UnknownVariableError
		file        *config.FileError
		ceiling     *config.CeilingError
		tenant      *config.UnknownTenantError
		project     *config.ProjectError
		source      *clientcfg.UnknownSourceError
		loop        *loopError
		untrusted   *untrustedError
	)
	var (
		unusable *unusableError
		unlisted *unlistedError
		tool     *unknownToolError
		unsaved  *toolbox.NoToolError
		exists   *toolbox.ExistsError
		there    *isThereError
	)
	switch {
	case errors.As(err, &unusable) && unusable.entry.Status == clientcfg.NeedsApproval:
		return []string{"codemode servers show " + word(unusable.entry.Written), "codemode servers approve " + word(unusable.entry.Written)}
	case errors.As(err, &unlisted):
		return []string{"codemode servers refresh " + word(unlisted.server)}
	case errors.As(err, &tool) && tool.nearest != "":
		return []string{"did you mean " + quote(tool.nearest) + "?"}
	case errors.As(err, &tool):
		return []string{"there are: codemode docs " + word(tool.server)}
	case errors.As(err, &unsaved):
		if hints := didYouMean(unsaved.Name, unsaved.Known); hints != nil {
			return hints
		}
		return []string{"there are: codemode tools list"}
	case errors.As(err, &exists) && exists.Other == exists.Name:
		return []string{"codemode tools show " + word(exists.Name), "to replace it: --force"}
	case errors.As(err, &usage):
		return usage.hints
	case errors.As(err, &share): // before what it wraps
		return shareHints(share)
	case errors.As(err, &unavailable):
		return unavailable.Remedy
	case errors.As(err, &interpreter):
		return []string{"leave out --python (sandbox.python), or use --runtime native; sandbox.image chooses a container's Python"}
	case errors.As(err, &gap):
		return []string{gapHint(gap)}
	case errors.As(err, &server):
		return serverHints(server)
	case errors.As(err, &start):
		return startHints(start)
	case errors.As(err, &key):
		return nearestOrAll(key.Key, key.Known)
	case errors.As(err, &variable):
		return didYouMean(variable.Name, variable.Known)
	case errors.As(err, &file) && errors.Is(err, fs.ErrPermission):
		return []string{"if HOME is the home of another user, as after su or sudo, set it to yours"}
	case errors.As(err, &tenant):
		return nearestOrAll(tenant.Name, tenant.Known)
	case errors.As(err, &project):
		return []string{"if you want it, set it in your own config.toml; see: codemode config path"}
	case errors.As(err, &untrusted):
		return []string{"for each of them: codemode config check"}
	case errors.Is(err, clientcfg.ErrNotApproved):
		return []string{"there are: codemode servers"}
	case errors.As(err, &loop):
		return []string{"remove that server; codemode servers lists them. If it is meant: mcp.allow_self = true in config.toml"}
	case errors.As(err, &source):
		return nearestOrAll(source.Name, sourceNames())
	case errors.As(err, &there):
		return []string{there.instead}
	case errors.Is(err, errNoConfigDir):
		return []string{"set HOME or XDG_CONFIG_HOME to an absolute path, or name a file with --config"}
	case errors.Is(err, errNoCache):
		return []string{"set HOME, or XDG_CACHE_HOME and XDG_CONFIG_HOME, to absolute paths"}
	case errors.As(err, &ceiling):
		return []string{"raise the limit with CODEMODE_RUN_MAX_TIMEOUT, or run.max_timeout in config.toml"}
	}
	return nil
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%_+=:,./][A-Za-z0-9@%_+=:,./-]*$`)

// word is a name in a command that is shown to be pasted: strangers choose names, and shells obey them.
func word(name string) string {
	if plainWord.MatchString(name) {
		return name
	}
	quoted := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	if strings.HasPrefix(name, "-") {
		return "-- " + quoted
	}
	return quoted
}

// nearestOrAll is the name that was most likely meant, else all there are.
func nearestOrAll(typed string, known []string) []string {
	if hints := didYouMean(typed, known); hints != nil {
		return hints
	}
	return []string{"there are " + strings.Join(known, ", ")}
}

func sourceNames() (names []string) {
	for _, s := range clientcfg.Sources() {
		names = append(names, s.Name)
	}
	return names
}

// shareHints says how to share a folder with a virtual machine. Podman chooses folders when it makes a machine, and
// --volume replaces those it would share by itself (podman-machine-init(1) of 5.7, November 2026).
func shareHints(share *container.ShareError) []string {
	switch {
	case share.VM == container.PodmanMachine:
		return []string{
			`make a machine with it: podman machine init --volume "$HOME:$HOME" --volume ` + word(share.Folder+":"+share.Folder) + " codemode",
			"use it instead: podman machine stop; podman machine start codemode; podman system connection default codemode",
		}
	case share.VM == container.DockerDesktop:
		return []string{"add the folder in Docker Desktop: Settings, Resources, File Sharing"}
	case share.VM != "":
		return []string{"share the folder with " + share.VM}
	case share.Remote:
		return []string{"use an engine of this machine; DOCKER_HOST, CONTAINER_HOST and their contexts and connections name another"}
	}
	return []string{"if SELinux or a snap confines the engine, use a folder that it may read"}
}

func gapHint(gap *sandbox.GapError) string {
	names := make([]string, len(gap.Gaps))
	for i, g := range gap.Gaps {
		names[i] = g.Name
	}
	return fmt.Sprintf("to do without: CODEMODE_SANDBOX_ALLOW_GAPS=%s", strings.Join(names, ","))
}

func startHints(e *upstream.StartError) (hints []string) {
	if e.Stderr != "" {
		hints = append(hints, "its last words: "+lastLine(e.Stderr))
	}
	if hint := e.Hint(); hint != "" {
		hints = append(hints, hint)
	}
	return hints
}

func serverHints(e *bridge.UnknownServerError) []string {
	if e.Nearest != "" {
		return []string{"did you mean " + quote(e.Nearest) + "?"}
	}
	return []string{"there are: codemode servers"}
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}
