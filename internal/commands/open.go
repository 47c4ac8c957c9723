package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"codemode/internal/bridge"
	"codemode/internal/catalog"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/keyring"
	"codemode/internal/plainfile"
	"codemode/internal/quota"
	"codemode/internal/sandbox"
	"codemode/internal/sandbox/container"
	"codemode/internal/secrets"
	"codemode/internal/servers"
	"codemode/internal/signin"
	"codemode/internal/telemetry"
	"codemode/internal/upstream"

	"github.com/urfave/cli/v3"
)

// tenancy is what one command knows of its tenant: the settings, where its things are, and its servers.
type tenancy struct {
	env       Env
	cmd       *cli.Command
	config    config.Config
	paths     config.Paths
	file      string // config.toml
	byLink    bool   // a link led to the working directory at the start
	approvals *clientcfg.Approvals
	found     clientcfg.Found
	judging   func()               // finds what clients have, once; nil where nobody looks
	telemetry *telemetry.Telemetry // nil is none
	adder     *adder               // of its bridge
	inputs    inputs               // to code, by this command
	unseen    func([]error)        // is told what code does not see of its folders; nil is nobody
	told      sync.Map             // what unseen was, by its text
	looked    sync.Once            // for what is granted and unshown
	granted   []sandbox.Mount      // what sessions will be shown
	unshown   []error              // what sessions will lack of the user's files
	layered   *sandbox.Packages    // what code by this command needs; nil is what the tenant has
	needs     bool                 // the program asks for packages, and is not run without

	unapproved  error             // why approvals could not be read
	allProjects bool              // what Claude Code has for other projects is found, too
	overlay     map[string][]byte // see clientcfg.Options
	basis       basis             // of found
	usable      []config.Server   // those code can be given, by the tenant's choice too
	ready       []string          // of usable, the names of those that lack nothing
	aliases     map[string]string // of usable
	problems    []error           // with the tenant's own files, which stop nothing
}

// openTenancy loads the settings and looks for servers. Nothing is started.
func openTenancy(env Env, cmd *cli.Command) (*tenancy, error) {
	t, err := openLate(env, cmd)
	if err != nil {
		return nil, err
	}
	t.judge()
	return t, nil
}

// openLate is openTenancy that has looked at what is codemode's own alone: judge looks at the rest.
func openLate(env Env, cmd *cli.Command) (*tenancy, error) {
	t, err := openSettings(env, cmd)
	if err == nil {
		err = t.findOwn()
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// openSettings is openTenancy without servers.
func openSettings(env Env, cmd *cli.Command) (*tenancy, error) {
	c, err := load(env, cmd)
	if err != nil {
		return nil, err
	}
	t := &tenancy{
		env: env, cmd: cmd, config: c, file: config.UserFile(settingsSource(env, cmd)),
		paths: config.FindPaths(env.Lookup, runtime.GOOS), allProjects: cmd.Bool("all-projects"),
	}
	t.byLink = filepath.IsAbs(env.Dir) && plainfile.Resolve(env.Dir) != env.Dir
	if file := t.approvalsFile(); file != "" {
		if t.approvals, err = clientcfg.LoadApprovals(file); err != nil {
			t.problems = append(t.problems, err)
		}
	}
	if w, ok := t.projectRequest(); ok {
		t.config.Files.Own = &config.Mount{Folder: w.Path, Name: w.Name}
	}
	return t, nil
}

func (t *tenancy) home() (string, bool) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	return t.env.Lookup(name)
}

// setOf is a set of all those names.
func setOf(lists ...[]string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			set[name] = true
		}
	}
	return set
}

func names(servers []config.Server) []string {
	all := make([]string, len(servers))
	for i, s := range servers {
		all[i] = s.Name
	}
	return all
}

// lacking are the servers that can be asked for by name and have that status.
func (t *tenancy) lacking(what clientcfg.Status) (list []string) {
	for _, e := range t.found.Entries {
		if e.Status == what && t.config.Servers.Selects(e.Server) {
			list = append(list, e.Server.Name)
		}
	}
	return list
}

// expand replaces the references in a server's entry, as the program it is from would.
func (t *tenancy) expand(s config.Server, resolved func(variable, value string)) (config.Server, error) {
	// Approval was asked for when servers were looked for; a project's files may be others by the time one starts.
	if s.Project != "" && s.Stamp != clientcfg.Stamp(s, t.machine()) {
		return s, errors.New("a file that its entry refers to has changed since it was found to be approved")
	}
	return clientcfg.Expand(s, t.resolver(resolved))
}

func (t *tenancy) resolver(resolved func(variable, value string)) clientcfg.Resolver {
	home, _ := t.home()
	return clientcfg.Resolver{
		OS: runtime.GOOS, Home: home, Lookup: t.env.Lookup,
		ReadFile: t.readReference, Secret: t.secret, Resolved: resolved,
	}
}

// maxReference bounds a file that an entry refers to.
const maxReference = 64 << 10

// readReference reads a file that an entry refers to: a project's within the project, and that of a server in a sandbox
// through no link that another server may have made.
func (t *tenancy) readReference(s config.Server, path string) ([]byte, error) {
	switch {
	case s.Project != "":
		return plainfile.ReadWithin(s.Project, path, maxReference)
	case s.Sandbox != nil:
		return plainfile.ReadFollowed(path, t.trusted(), maxReference)
	}
	return plainfile.Read(path, maxReference)
}

// bridgeOptions are those of every bridge of the tenant, of all servers that could be used. The runtime is the caller's
// to choose.
func (t *tenancy) bridgeOptions(log *slog.Logger) bridge.Options {
	return bridge.Options{
		Config:        t.config,
		Servers:       func() *servers.Set { return t.setWith(t.usable) },
		Log:           log,
		Version:       readVersion().Version,
		Lookup:        t.env.Lookup,
		Expand:        t.expand,
		Token:         t.token,
		SignInSecrets: t.signInSecrets,
		SignedInAs:    t.whoIsSignedIn,
		SignInWanted:  func(s config.Server, challenges []string) { t.signIns(s).Want(s.URL, challenges) },
		SignIn:        t.signInForRun,
		Secrets:       t.secrets,
		Mounts:        t.mounts,
		Roots:         t.shownRoots(),
		Env:           t.inputs.env,
		Telemetry:     t.telemetry,
		Protected:     t.protected,
		Homes:         t.homes(),
		UnseenHomes:   t.everyHome(),
		Trusted:       t.trusted(),
		CatalogDir:    t.listsDir(),
		AuditDir:      t.auditDir(),
		StateDir:      t.outputsDir(),
		ToolsDir:      t.toolsDir(),
		Artifacts:     t.artifacts(log),
		Disk:          t.disk(log),
		Pods:          t.serverPods(log),
	}
}

// serverPods makes pods for servers, in the cluster that guests have or would have.
func (t *tenancy) serverPods(log *slog.Logger) bridge.ServerPods {
	command := container.Kubernetes
	if strings.Contains(filepath.Base(t.config.Sandbox.Runtime), "kubectl") {
		command = t.config.Sandbox.Runtime
	}
	return t.engine(command, nil, log) // which shows no progress: nodes fetch images themselves
}

// disk is the budget of what the tenant keeps. Where there is no folder for that, nothing is kept that outlives a
// process.
func (t *tenancy) disk(log *slog.Logger) *quota.Budget {
	state := t.paths.TenantState(t.config.Tenant)
	if state == "" {
		return nil
	}
	return quota.New(
		filepath.Join(state, "disk.lock"), t.config.Disk.MaxSize, log,
		quota.Folder{Path: t.outputsDir(), Open: true},
		quota.Folder{Path: t.imagesDir()},
		quota.Folder{Path: t.artifactsDir()},
		quota.Folder{Path: t.toolsDir(), Saved: true},
		quota.Folder{Path: t.listsDir()},
	)
}

// outputsDir is where large outputs are while they can be read, and imagesDir those that exec has been shown.
func (t *tenancy) outputsDir() string { return join(t.paths.TenantState(t.config.Tenant), "outputs") }

func (t *tenancy) imagesDir() string { return join(t.paths.TenantState(t.config.Tenant), "images") }

// listsDir is where lists of servers' tools are.
func (t *tenancy) listsDir() string { return join(t.paths.TenantCache(t.config.Tenant), "tools") }

// token is the access token for a server by URL, of the tenant's sign-in there.
func (t *tenancy) token(ctx context.Context, s config.Server, refused string) (string, error) {
	token, err := t.signIns(s).Token(ctx, s.URL, refused)
	if errors.Is(err, signin.ErrSignedOut) {
		err = upstream.ErrNoToken
	}
	return token, err
}

// signInSecrets are what is kept of a sign-in beside the access token: no server's error tells code of it.
func (t *tenancy) signInSecrets(ctx context.Context, s config.Server) []string {
	g, err := t.signIns(s).Load(ctx, s.URL)
	if err != nil {
		return nil // whose token this is was just there; who reads it next is told
	}
	return slices.DeleteFunc([]string{g.RefreshToken, g.Client.Secret}, func(s string) bool { return s == "" })
}

// whoIsSignedIn names the tenant's sign-in at a server by URL; empty where there is none.
func (t *tenancy) whoIsSignedIn(s config.Server) string {
	s, err := t.expand(s, func(string, string) {})
	if err != nil || clientcfg.HasToken(s) {
		return ""
	}
	return t.signIns(s).Who(s.URL)
}

// signIns are the tenant's sign-ins at servers by URL: those of the project of a server, or the user's own.
func (t *tenancy) signIns(s config.Server) *signin.Store {
	state := t.paths.TenantState(t.config.Tenant)
	return &signin.Store{Dir: join(state, "sign-ins"), Project: s.Project, Ring: t.ring()}
}

// ring seals what the tenant keeps.
func (t *tenancy) ring() *keyring.Ring { return t.ringOf(t.config.Tenant) }

func (t *tenancy) ringOf(tenant string) *keyring.Ring {
	return &keyring.Ring{Dir: t.paths.TenantState(tenant), Store: t.config.Secrets.Store}
}

// secretStore is what the tenant's entries refer to as ${secret:NAME}.
func (t *tenancy) secretStore() *secrets.Store { return t.secretsOf(t.config.Tenant) }

func (t *tenancy) secretsOf(tenant string) *secrets.Store {
	return &secrets.Store{File: join(t.paths.TenantState(tenant), "secrets.json"), Ring: t.ringOf(tenant)}
}

func (t *tenancy) secret(name string) (string, error) {
	return t.findSecret(name, func(s *secrets.Store) (string, error) { return s.Get(context.Background(), name) })
}

// hasSecret is no value, and an error where there is none. Looking for servers asks no keyring.
func (t *tenancy) hasSecret(name string) (string, error) {
	return t.findSecret(name, func(s *secrets.Store) (string, error) { return "", s.Has(name) })
}

func (t *tenancy) findSecret(name string, find func(*secrets.Store) (string, error)) (string, error) {
	if err := secrets.CheckName(name); err != nil {
		if strings.Contains(name, ":-") {
			err = errors.New("a secret has no default")
		}
		return "", err
	}
	value, err := find(t.secretStore())
	if errors.Is(err, secrets.ErrNone) {
		set := "codemode secrets set " + hint.Word(name)
		err = hint.New(err.Error()+": "+set, set)
	}
	return value, err
}

// homes are the user's home in each way in which a path may begin with it.
func (t *tenancy) homes() []string {
	home, _ := t.home()
	if home == "" {
		return nil
	}
	list := []string{strings.TrimRight(home, string(filepath.Separator)), filepath.Clean(home)}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		list = append(list, real)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// unseenHomes are what no server in a sandbox sees whole, whatever its environment says.
func (t *tenancy) unseenHomes() []string { return slices.Concat(t.homes(), t.everyHome()) }

// protected is what says which servers there are, or would if it were there, and what is kept of them: a server that
// could change it could start anything, outside of its sandbox. Files of a project are not among it: what changes in
// them must be approved again.
func (t *tenancy) protected() []string {
	t.judge()
	c := t.config.Servers
	list := append([]string{t.paths.Config, t.paths.Cache, t.paths.State, t.file, c.Dir}, c.Files...)
	list = append(list, clientcfg.UserFiles(t.machine())...)
	for _, e := range t.found.Entries {
		if e.Scope != clientcfg.Project && filepath.IsAbs(e.Server.Source) {
			list = append(list, e.Server.Source)
		}
	}
	return withLinks(slices.Compact(list)) // entries of one file stand side by side
}

// withLinks adds the links that lie in those that are folders: what such a link leads to may be a file of the folder's
// as soon as it is there.
func withLinks(paths []string) []string {
	list := slices.Clip(paths)
	for _, dir := range paths {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink != 0 {
				list = append(list, filepath.Join(dir, e.Name()))
			}
		}
	}
	return list
}

// approvalsFile is where the tenant's approvals are.
func (t *tenancy) approvalsFile() string {
	return join(t.paths.TenantState(t.config.Tenant), "approvals.json")
}

// auditDir is where the tenant's audit log is.
func (t *tenancy) auditDir() string { return join(t.paths.TenantState(t.config.Tenant), "audit") }

// toolsDir is where the tenant's saved tools are.
func (t *tenancy) toolsDir() string { return join(t.paths.TenantState(t.config.Tenant), "tools") }

// join is filepath.Join, but of nothing where there is no directory.
func join(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// ownProblems are those that every command tells: of the settings, and of the files that are codemode's own.
func (t *tenancy) ownProblems() []error {
	list := slices.Concat(warnings(t.env, t.config), t.problems)
	if r := t.config.Files.Request; r.File != "" && !t.config.Files.Project && !t.agreed(r) {
		list = append(list, &unapprovedError{r})
	}
	for _, p := range t.found.Problems {
		if p.Own() {
			list = append(list, p)
		}
	}
	return list
}

// askable says why servers that were asked for by name cannot be used, before anything is done for them.
func (t *tenancy) askable(asked []string) error {
	for _, name := range asked {
		known := slices.ContainsFunc(
			t.given(), func(s config.Server) bool { return s.Name == name || t.aliases[s.Name] == name },
		)
		if known {
			continue
		}
		entries, err := t.named(name)
		if err != nil {
			return err
		}
		return &unusableError{entries[0]}
	}
	return nil
}

// named finds the entries that are called so here, or are written so.
func (t *tenancy) named(name string) ([]clientcfg.Entry, error) {
	t.judge()
	entries := t.found.Named(name)
	if len(entries) == 0 {
		var known []string
		for _, e := range t.found.Entries {
			known = append(known, e.Server.Name)
		}
		return nil, &servers.UnknownServerError{Name: name, Nearest: catalog.Suggest(name, known)}
	}
	for i := range entries {
		entries[i] = t.chosen(entries[i])
	}
	return entries, nil
}

// excluded is the status of a server that could be used, were it not for mcp.include and mcp.exclude.
const excluded clientcfg.Status = "excluded"

// chosen is an entry with the tenant's choice of servers in its status.
func (t *tenancy) chosen(e clientcfg.Entry) clientcfg.Entry {
	if e.Counts() && !t.config.Servers.Selects(e.Server) {
		e.Status, e.Reason = excluded, fmt.Sprintf("tenant %q leaves it out", t.config.Tenant)
	}
	return e
}
