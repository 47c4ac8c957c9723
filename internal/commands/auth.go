package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"codemode/internal/bridge"
	"codemode/internal/clientcfg"
	"codemode/internal/config"
	"codemode/internal/hint"
	"codemode/internal/signin"
	"codemode/internal/visible"

	"github.com/urfave/cli/v3"
)

func authCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "auth",
		Usage: "sign in to servers by URL, and out again",
		Commands: []*cli.Command{
			loginCommand(env, ui),
			logoutCommand(env, ui),
			authStatusCommand(env, ui),
		},
		Metadata: examples(`codemode auth login sentry`, `codemode auth status`, `codemode auth logout sentry`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			return &usageError{"auth what?", []string{"there are: codemode auth login, logout, status"}}
		},
	}
}

func loginCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "login",
		Usage:     "sign in to a server by URL, in a browser",
		ArgsUsage: "SERVER",
		Description: "The browser may be on another machine: type the code there that is shown, or,\n" +
			"where there is none, paste the address that it ends at, even if that fails.",
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{
				Name:  "scope",
				Usage: "`SCOPE` wanted beside what the server asks for; repeatable",
				Local: true,
			},
			&cli.StringFlag{Name: "client-id", Usage: "`ID` of codemode at its authorization server", Local: true},
			&cli.StringFlag{
				Name:  "client-secret-from",
				Usage: "`VARIABLE` that holds its secret; or secret:NAME",
				Local: true,
			},
			&cli.StringFlag{
				Name:  "client-metadata",
				Usage: "`URL` of a document about codemode, for an ID",
				Local: true,
			},
			&cli.BoolFlag{
				Name:  "client-credentials",
				Usage: "sign in as that registration itself, without a user",
				Local: true,
			},
			&cli.BoolFlag{Name: "device", Usage: "show a code to type on any device, or fail", Local: true},
			&cli.BoolFlag{Name: "no-browser", Usage: "open none: only print the address", Local: true},
		}, discoveryFlags()...),
		Metadata: examples(`codemode auth login sentry`, `codemode auth login --no-browser github --scope repo`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			t, server, err := openSignIn(env, cmd)
			if err != nil {
				return err
			}
			return t.signIn(ctx, ui, cmd, server)
		},
	}
}

// openSignIn is the tenant, and the server that is named, its references replaced.
func openSignIn(env Env, cmd *cli.Command) (*tenancy, config.Server, error) {
	name, t, err := openNamed(env, cmd)
	if err != nil {
		return nil, config.Server{}, err
	}
	if err := t.askable([]string{name}); err != nil {
		return nil, config.Server{}, err
	}
	i := slices.IndexFunc(t.usable, func(s config.Server) bool { return s.Name == name || t.aliases[s.Name] == name })
	s := t.usable[i]
	if s.Command != "" {
		return nil, s, fmt.Errorf(
			"server %q is a program, which signs in by itself; only servers by URL are signed in to here", s.Name,
		)
	}
	client, err := clientcfg.ExpandOAuth(s, t.resolver(func(string, string) {}))
	if err != nil {
		return nil, s, fmt.Errorf("server %q: the client of its sign-in: %w", name, err)
	}
	s, err = t.expand(s, func(string, string) {})
	if err != nil {
		return nil, s, fmt.Errorf("server %q: %w", name, err)
	}
	if s.OAuth != nil {
		s.OAuth = &client
	}
	return t, s, nil
}

func (t *tenancy) signIn(ctx context.Context, ui *ui, cmd *cli.Command, s config.Server) error {
	if clientcfg.HasToken(s) {
		return fmt.Errorf("server %q has a token in its entry, which is what it is sent; nothing was done", s.Name)
	}
	client, err := t.registration(cmd, s)
	if err != nil {
		return err
	}
	var entry config.OAuth
	if s.OAuth != nil && client.ID == s.OAuth.ClientID {
		entry = *s.OAuth
		ui.note("auth", fmt.Sprintf("as the client %q that its entry names", entry.ClientID))
	}
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	login := t.login(ui, cmd, s, client, entry, refuse)
	login.Store.Ring.Slow, login.Clear = ui.keyringSlow, ui.inClear
	g, err := login.Run(ctx)
	ui.waiting(s.Name, "")
	if err != nil {
		return fmt.Errorf("signing in to %q: %w", s.Name, clientcfg.HideSecrets(err, s, entry))
	}
	ui.note(
		"auth",
		fmt.Sprintf("signed in to %q by %s; the token is %s", s.Name, host(g.Issuer), where(g.Sealed != nil)),
	)
	ui.hints([]string{"codemode docs " + hint.Word(s.Name) + " --refresh"})
	return nil
}

// login is a sign-in that tells its user where to go, and opens a browser there where one is wanted. Where no answer
// could come, it is refused.
func (t *tenancy) login(
	ui *ui, cmd *cli.Command, s config.Server, client signin.Client, o config.OAuth, refuse context.CancelCauseFunc,
) *signin.Login {
	browser := !cmd.Bool("no-browser") && browserCommand(t.env) != nil
	login := &signin.Login{
		Store: t.signIns(s), Server: s.URL, Client: client, Port: o.CallbackPort,
		Scopes:   slices.Concat(o.Scopes, cmd.StringSlice("scope")),
		Metadata: cmd.String("client-metadata"), Itself: cmd.Bool("client-credentials"),
		ShowCode: func(ctx context.Context, code signin.DeviceCode) error {
			if err := confirmElsewhere(ctx, t.env, s.Name, code); err != nil {
				return err
			}
			showCode(ui, s.Name, code)
			if browser {
				openBrowser(ctx, t.env, cmp.Or(code.Complete, code.Page))
			}
			showWaiting(ctx, ui, s.Name)
			return nil
		},
	}
	switch {
	case cmd.Bool("device"):
		login.Device = signin.Always
	case !browser:
		login.Device = signin.WhereOffered
	}
	login.Show = func(ctx context.Context, address string) {
		opened := browser && openBrowser(ctx, t.env, address)
		if !opened && login.Pasted == nil && !isTerminal(t.env.Stderr) {
			refuse(nobodySignsIn(s.Name))
			return
		}
		ui.note("auth", fmt.Sprintf("sign in to %q here:", s.Name))
		ui.raw(oneLine(address) + "\n")
		showBrowserWait(ctx, ui, opened)
	}
	if in := t.env.Stdin; isTerminal(in) || cmd.Bool("no-browser") {
		login.Pasted = func(ctx context.Context) (string, error) {
			ui.note("auth", "or paste the address that the browser ends at, and press Enter")
			text, err := typedLine(ctx, in)
			if errors.Is(err, io.EOF) && text == "" { // nobody pastes; a browser may still come back
				<-ctx.Done()
			}
			return text, nil
		}
	}
	return login
}

// signInForRun is a sign-in in the middle of a run, by whoever asks that run's user: codemode opens no page for it.
func (t *tenancy) signInForRun(
	ctx context.Context, s config.Server, show func(context.Context, bridge.SignInPage),
) (text string, err error) {
	o, err := clientcfg.ExpandOAuth(s, t.resolver(func(string, string) {}))
	if err != nil {
		return "", fmt.Errorf("the client of its sign-in: %w", err)
	}
	if s, err = t.expand(s, func(string, string) {}); err != nil {
		return "", err
	}
	login := &signin.Login{
		Store: t.signIns(s), Server: s.URL, Port: o.CallbackPort, Scopes: o.Scopes,
		Client: signin.Client{ID: o.ClientID, Secret: o.Secret},
		Show:   func(ctx context.Context, address string) { show(ctx, bridge.SignInPage{Address: address}) },
		ShowCode: func(ctx context.Context, code signin.DeviceCode) error {
			show(ctx, bridge.SignInPage{
				Address: cmp.Or(code.Complete, code.Page), Code: code.Code, Authority: code.Authority,
				Warning: code.Warning(visible.Name(s.Name)),
			})
			return nil
		},
	}
	if browserCommand(t.env) == nil {
		login.Device = signin.WhereOffered
	}
	g, err := login.Run(ctx)
	if err != nil {
		return "", clientcfg.HideSecrets(err, s, o)
	}
	return fmt.Sprintf("signed in to %q by %s; the token is %s", s.Name, host(g.Issuer), where(g.Sealed != nil)), nil
}

// nobodySignsIn refuses to wait for an answer that nobody could give.
func nobodySignsIn(server string) error {
	login := "codemode auth login " + hint.Word(server)
	return &exitError{exitRefused, hint.New(
		fmt.Sprintf("nobody can sign in to %q: no browser could be opened, and there is no terminal to paste its answer at",
			server),
		"by a code that is typed on any device: "+login+" --device",
		"without a user: "+login+" --client-credentials --client-id ID --client-secret-from VARIABLE",
		"or start it at a terminal; --no-browser waits for a browser of this machine that you open yourself",
	)}
}

// showBrowserWait says what is waited for, and how long.
func showBrowserWait(ctx context.Context, ui *ui, opened bool) {
	waiting := "waiting for the browser"
	if !opened {
		waiting = "waiting for a browser of this machine to come back from there"
	}
	if ends, ok := ctx.Deadline(); ok {
		waiting += ", for " + time.Until(ends).Round(time.Second).String() + " at most"
	}
	ui.note("auth", waiting)
}

// registration is codemode as its user has registered it at an authorization server: by flags, else by the entry; empty
// where they have not.
func (t *tenancy) registration(cmd *cli.Command, s config.Server) (c signin.Client, err error) {
	c.ID = cmd.String("client-id")
	if c.ID == "" && s.OAuth != nil {
		c.ID, c.Secret = s.OAuth.ClientID, s.OAuth.Secret
	}
	from := cmd.String("client-secret-from")
	kept, isKept := strings.CutPrefix(from, "secret:")
	switch {
	case isKept:
		c.Secret, err = t.secret(kept)
		if err != nil {
			err = fmt.Errorf("--client-secret-from: %w", err)
		}
	case from != "":
		var ok bool
		if c.Secret, ok = t.env.Lookup(from); !ok {
			err = &usageError{"--client-secret-from: the variable " + quote(from) + " is not set", nil}
		}
	}
	if err == nil && cmd.Bool("client-credentials") && (c.ID == "" || c.Secret == "") {
		err = &usageError{
			"--client-credentials needs --client-id and --client-secret-from: without a user, they say who asks", nil,
		}
	}
	return c, err
}

// browserCommand opens addresses; nil where nothing is shown.
func browserCommand(env Env) (command []string) {
	browser, _ := env.Lookup("BROWSER")
	_, x := env.Lookup("DISPLAY")
	_, wayland := env.Lookup("WAYLAND_DISPLAY")
	switch {
	case browser != "":
		command = []string{browser}
	case runtime.GOOS == "darwin":
		command = []string{"open"}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case x || wayland:
		command = []string{"xdg-open"}
	}
	return command
}

// openBrowser opens an address, and says whether it tried.
func openBrowser(ctx context.Context, env Env, address string) bool {
	command := browserCommand(env)
	if command == nil {
		return false
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], address)...)
	if err := cmd.Start(); err != nil {
		return false
	}
	go func() { _ = cmd.Wait() }()
	return true
}

func logoutCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "logout",
		Usage:       "sign out of a server by URL",
		Description: "Its authorization server forgets it, too, where it has a way to.",
		ArgsUsage:   "SERVER",
		Flags:       discoveryFlags(),
		Metadata:    examples(`codemode auth logout sentry`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			t, s, err := openSignIn(env, cmd)
			if err != nil {
				return err
			}
			err = t.signIns(s).Remove(ctx, s.URL)
			if errors.Is(err, signin.ErrSignedOut) {
				ui.note("note", fmt.Sprintf("nobody was signed in to %q", s.Name))
				return nil
			}
			if err == nil {
				ui.note("auth", fmt.Sprintf("signed out of %q", s.Name))
			}
			return err
		},
	}
}

// signInRow is a sign-in, in JSON, too. No token is in it.
type signInRow struct {
	Server  string   `json:"server"` // as it is called here; empty where no entry has that URL any more
	URL     string   `json:"url"`
	Issuer  string   `json:"issuer"`
	Scopes  []string `json:"scopes"`
	Expires string   `json:"expires,omitempty"` // RFC 3339; of the token, which may be refreshed
	Refresh bool     `json:"refreshes"`
	Kept    string   `json:"kept"` // keyring or file
}

func authStatusCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show where you are signed in",
		ArgsUsage: "[SERVER]",
		Flags:     append([]cli.Flag{jsonFlag()}, discoveryFlags()...),
		Metadata:  examples(`codemode auth status`, `codemode auth status --json`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			rows, where, err := statusRows(env, cmd)
			if err != nil {
				return err
			}
			out := newSheet(env)
			if cmd.Bool("json") {
				return out.json(rows)
			}
			if len(rows) == 0 {
				ui.note("note", "nobody is signed in "+where)
				return nil
			}
			table := make([][]cell, 0, len(rows))
			for _, r := range rows {
				scopes := strings.Join(r.Scopes, " ")
				table = append(table, cells(cmp.Or(r.Server, r.URL), host(r.Issuer), scopes, r.until(), r.Kept))
			}
			return out.table([]string{"SERVER", "BY", "SCOPES", "TOKEN", "KEPT IN"}, table)
		},
	}
}

// statusRows are the sign-ins that are asked for, of one server or of all, and where those are.
func statusRows(env Env, cmd *cli.Command) (rows []signInRow, where string, err error) {
	if !cmd.Args().Present() {
		t, err := openTenancy(env, cmd)
		if err != nil {
			return nil, "", err
		}
		return t.signInRows(), "anywhere", nil
	}
	t, s, err := openSignIn(env, cmd)
	if err != nil {
		return nil, "", err
	}
	others := func(r signInRow) bool { return r.Server != s.Name }
	return slices.DeleteFunc(t.signInRows(), others), "at " + quote(s.Name), nil
}

// signInRows are the tenant's sign-ins, in the order of their servers' names.
func (t *tenancy) signInRows() []signInRow {
	named := map[string]string{}
	for _, s := range t.usable {
		if s, err := t.expand(s, func(string, string) {}); err == nil && s.URL != "" {
			named[s.Project+" "+s.URL] = s.Name
		}
	}
	rows := []signInRow{}
	for _, g := range t.signIns(config.Server{}).List() {
		r := signInRow{
			Server: named[g.Project+" "+g.Server], Issuer: g.Issuer,
			URL:    clientcfg.Masked(config.Server{URL: g.Server}).URL,
			Scopes: g.Scopes, Refresh: g.Renews || g.RefreshToken != "", Kept: place(g.Sealed != nil),
		}
		if !g.Expires.IsZero() {
			r.Expires = g.Expires.UTC().Format(time.RFC3339)
		}
		rows = append(rows, r)
	}
	slices.SortFunc(
		rows, func(a, b signInRow) int { return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.URL, b.URL)) },
	)
	return rows
}

// until says how long a sign-in lasts.
func (r signInRow) until() string {
	switch at, err := time.Parse(time.RFC3339, r.Expires); {
	case r.Refresh:
		return "renewed when it ends"
	case err != nil:
		return "without an end"
	case time.Now().After(at):
		return "ended"
	default:
		return "until " + at.Local().Format("2006-01-02 15:04")
	}
}

// host is an address's host, for people.
func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return oneLine(u.Host)
	}
	return oneLine(address)
}
