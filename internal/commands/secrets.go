package commands

import (
	"context"
	"io"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/install"
	"codemode/internal/hint"
	"codemode/internal/secrets"

	"github.com/urfave/cli/v3"
)

func secretsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:  "secrets",
		Usage: "values that entries of servers refer to by name",
		Description: "An entry of codemode's own says ${secret:NAME} where the value is wanted. The\n" +
			"server gets it, and code does not; in errors and logs it is masked.",
		Flags:           tenantFlags(),
		HideHelpCommand: true,
		Commands: []*cli.Command{
			setSecretCommand(env, ui), listSecretsCommand(env, ui), removeSecretsCommand(env, ui),
		},
		Metadata: examples(
			`codemode secrets set gh`,
			`codemode servers add gh https://gh.example/mcp --header 'Key: ${secret:gh}'`,
			`codemode secrets list`,
		),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownSubcommand(cmd, cmd.Args().First())
			}
			return &usageError{"secrets what?", []string{"there are: codemode secrets list, remove, set"}}
		},
	}
}

func setSecretCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:        "set",
		Usage:       "keep a value, typed unseen or read from stdin",
		ArgsUsage:   "NAME",
		Description: "A newline at the end of stdin is not part of it.",
		Flags:       tenantFlags(),
		Metadata:    examples(`codemode secrets set gh`, `pass show github | codemode secrets set github`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			name, err := oneSecret(cmd)
			if err != nil {
				return err
			}
			t, err := openTenancy(env, cmd)
			if err != nil {
				return err
			}
			value, err := readSecret(ctx, env, name)
			if err != nil {
				return err
			}
			store := t.secretStore()
			store.Ring.Slow = ui.keyringSlow
			done, err := store.Set(ctx, name, value)
			if err != nil {
				return err
			}
			verb := "kept"
			if done.Replaced {
				verb = "replaced"
			}
			ui.note(verb, quote(name)+", "+where(done.Sealed))
			ui.inClear(done.Why)
			if len(t.usersOf(name)) == 0 {
				ui.hints([]string{"in an entry of a server: ${secret:" + name + "}"})
			}
			return nil
		},
	}
}

// where says where a value is.
func where(sealed bool) string {
	if sealed {
		return "sealed by a key in the keyring"
	}
	return "in a file that only you can read"
}

// inClear says why a value is not sealed, where it should be.
func (u *ui) inClear(why string) {
	if why != "" {
		u.note("note", why)
	}
}

// keyringSlow says what is waited for.
func (u *ui) keyringSlow() {
	u.note("note", "waiting for the keyring, which may be asking for its password")
}

// oneSecret is the name that is given. More words are most likely the value, which is in the shell's history then, and
// is not repeated here.
func oneSecret(cmd *cli.Command) (string, error) {
	if cmd.Args().Len() != 1 {
		return "", &usageError{
			"set takes the name alone; the value is typed, or comes by stdin, " +
				"so that no history and no list of processes has it",
			[]string{"see: codemode secrets set --help"},
		}
	}
	name := cmd.Args().First()
	if err := secrets.CheckName(name); err != nil {
		return "", &usageError{err.Error(), nil}
	}
	return name, nil
}

// readSecret reads a value: from a terminal unseen, else all of stdin.
func readSecret(ctx context.Context, env Env, name string) (string, error) {
	if !isTerminal(env.Stdin) {
		data, err := io.ReadAll(io.LimitReader(env.Stdin, secrets.MaxValue+3))
		value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
		return value, err
	}
	return typedSecret(ctx, env, name)
}

// usersOf are the servers whose entries refer to a secret.
func (t *tenancy) usersOf(name string) (servers []string) {
	for _, e := range t.found.Entries {
		if slices.Contains(clientcfg.SecretNames(e.Server), name) && !slices.Contains(servers, e.Server.Name) {
			servers = append(servers, e.Server.Name)
		}
	}
	return servers
}

func listSecretsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the names, and which servers refer to them",
		Flags:    append([]cli.Flag{jsonFlag()}, tenantFlags()...),
		Metadata: examples(`codemode secrets list`, `codemode secrets list --json`),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArguments(cmd); err != nil {
				return err
			}
			t, err := openTenancy(env, cmd)
			if err != nil {
				return err
			}
			list, err := t.secretStore().List()
			if err != nil {
				return err
			}
			return t.printSecrets(ui, list, cmd.Bool("json"))
		},
	}
}

// secretRow is a secret in JSON.
type secretRow struct {
	Name    string   `json:"name"`
	Servers []string `json:"servers"` // whose entries refer to it
	Kept    string   `json:"kept"`    // keyring or file
}

// place is where a value is, in a word.
func place(sealed bool) string {
	if sealed {
		return "keyring"
	}
	return "file"
}

func (t *tenancy) printSecrets(ui *ui, list []secrets.Kept, asJSON bool) error {
	rows, table := []secretRow{}, [][]cell{}
	for _, s := range list {
		row := secretRow{s.Name, append([]string{}, t.usersOf(s.Name)...), place(s.Sealed)}
		used := strings.Join(row.Servers, " ")
		if used == "" {
			used = "-"
		}
		rows, table = append(rows, row), append(table, cells(s.Name, used, row.Kept))
	}
	out := newSheet(t.env)
	if asJSON {
		return out.json(rows)
	}
	if len(rows) == 0 {
		ui.note("note", "no secret is kept")
		ui.hints([]string{"to keep one: codemode secrets set NAME"})
		return nil
	}
	return out.table([]string{"NAME", "USED BY", "KEPT IN"}, table)
}

func removeSecretsCommand(env Env, ui *ui) *cli.Command {
	return &cli.Command{
		Name:      "remove",
		Usage:     "forget secrets",
		ArgsUsage: "NAME...",
		Flags:     tenantFlags(),
		Metadata:  examples(`codemode secrets remove github`),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			names := cmd.Args().Slice()
			if len(names) == 0 {
				return &usageError{"remove takes the names of secrets", []string{"there are: codemode secrets list"}}
			}
			t, err := openTenancy(env, cmd)
			if err != nil {
				return err
			}
			if err := t.secretStore().Remove(ctx, names...); err != nil {
				return hint.New(err.Error()+"; nothing was removed", "there are: codemode secrets list")
			}
			for _, name := range names {
				ui.note("removed", quote(name))
				if servers := t.usersOf(name); len(servers) > 0 {
					ui.warn("servers that refer to it cannot start now: " + strings.Join(servers, ", "))
				}
			}
			return nil
		},
	}
}

// vault is where the tokens of servers go that a tenant adopts.
func (t *tenancy) vault(tenant string) *install.Vault {
	store, ctx := t.secretsOf(tenant), context.Background() // a keyring and a lock are not waited for without an end
	return &install.Vault{
		Tenant: tenant,
		Of:     t.vault,
		Names: func() ([]string, error) {
			return namesIn(store)
		},
		Others: func() (names []string, err error) {
			for _, of := range t.config.Tenants {
				if of == tenant {
					continue
				}
				list, err := namesIn(t.secretsOf(of))
				if err != nil {
					return nil, err
				}
				names = append(names, list...)
			}
			return names, nil
		},
		Check: secrets.Check,
		Value: func(name string) (string, error) { return store.Get(ctx, name) },
		Keep:  func(name, value string) error { return store.Add(ctx, name, value) },
		Forget: func(name string) (kept string, err error) {
			t.discover()
			servers := t.usersOf(name)
			for _, b := range t.snapshots(nil, nil) { // also those that another client's entry has codemode read
				if b.of.config.Tenant == tenant {
					servers = append(servers, b.of.usersOf(name)...)
				}
			}
			slices.Sort(servers)
			if servers = slices.Compact(servers); len(servers) > 0 {
				return "it is used by " + strings.Join(servers, ", "), nil
			}
			return "", store.Remove(ctx, name)
		},
	}
}

// namesIn are those of all secrets of a store.
func namesIn(store *secrets.Store) (names []string, err error) {
	list, err := store.List()
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names, err
}
