package install

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"codemode/internal/clientcfg"
	"codemode/internal/clientcfg/splice"
)

// A Vault is where tokens go that stand in the entries of adopted servers: as secrets of codemode's, which the entries
// then refer to by name.
type Vault struct {
	Tenant string                                     // whose secrets they are
	Of     func(tenant string) *Vault                 // that of another tenant
	Names  func() ([]string, error)                   // of all secrets that there are
	Others func() ([]string, error)                   // of those of other tenants, who have the same servers
	Check  func(value string) error                   // says why a value cannot be one
	Value  func(name string) (string, error)          // of a secret
	Keep   func(name, value string) error             // makes one, or says that there is one: fs.ErrExist
	Forget func(name string) (kept string, err error) // removes one, or says why it is kept
}

// A Token is one that went from an entry to a secret.
type Token struct {
	Name   string `json:"name"` // of the variable or header
	Secret string `json:"secret"`
	Tenant string `json:"tenant,omitempty"` // whose; empty in records of before 2026-11-29
}

// of is the vault of a tenant: where that is not known, this one.
func (v *Vault) of(tenant string) *Vault {
	if v == nil || tenant == "" || tenant == v.Tenant {
		return v
	}
	return v.Of(tenant)
}

// secret is one that is about to be.
type secret struct{ name, value string }

const maxSecretName = 64

// tokensTaken are an entry's file without its tokens, and these.
type tokensTaken struct {
	text    []byte
	secrets []secret
}

// takeTokens has an entry of codemode's own file refer to its tokens. They are kept later, with the file.
func (i *Installer) takeTokens(
	m *Moved, text []byte, e clientcfg.Entry, planned []secret,
) (taken tokensTaken, err error) {
	taken.text = text
	tokens := clientcfg.Tokens(e.Server)
	if i.Vault == nil || len(tokens) == 0 {
		return taken, nil
	}
	names, err := i.Vault.Names()
	if err == nil && i.Vault.Others != nil {
		var others []string
		others, err = i.Vault.Others()
		names = append(names, others...)
	}
	if err != nil {
		return taken, err
	}
	for _, list := range append(slices.Collect(maps.Values(i.planned)), planned) {
		for _, s := range list {
			names = append(names, s.name)
		}
	}
	top := []string{"mcpServers", m.As}
	doc, err := splice.Parse(text, splice.JSONC)
	if err != nil {
		return taken, err
	}
	entry, _ := doc.Get(top)
	for _, at := range placesOf(entry, tokens, top) {
		table, name := at[:len(at)-1], at[len(at)-1]
		value, _ := doc.Get(at)
		token, _ := value.(string)
		if i.Vault.Check(token) != nil {
			continue
		}
		s := secret{secretName(m.As+"."+name, names), token}
		taken.text, err = doc.Set(table, []splice.Member{{Key: name, Value: "${secret:" + s.name + "}"}})
		if err == nil {
			doc, err = splice.Parse(taken.text, splice.JSONC)
		}
		if err != nil {
			return taken, err
		}
		names, taken.secrets = append(names, s.name), append(taken.secrets, s)
		m.Tokens = append(m.Tokens, Token{name, s.name, i.Vault.Tenant})
	}
	return taken, nil
}

// placesOf are where tokens stand in an entry, in whichever of its tables.
func placesOf(value any, tokens map[string]string, at []string) (places [][]string) {
	table, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		here := append(slices.Clone(at), name)
		token, is := tokens[name]
		if !is && clientcfg.IsClientSecret(name) {
			token, is = tokens[clientcfg.ClientSecret]
		}
		if text, ok := table[name].(string); ok && is && text == token {
			places = append(places, here)
		}
		places = append(places, placesOf(table[name], tokens, here)...)
	}
	return places
}

// secretName is a name that no other secret has.
func secretName(like string, taken []string) string {
	like = strings.TrimLeft(oddInName().ReplaceAllString(like, "_"), "._-")
	name := like[:min(len(like), maxSecretName)]
	for n := 2; name == "" || slices.Contains(taken, name); n++ {
		tail := fmt.Sprintf("-%d", n)
		name = like[:min(len(like), maxSecretName-len(tail))] + tail
	}
	return name
}

// keepTokens makes secrets: all, or none.
func (i *Installer) keepTokens(secrets []secret) error {
	for n, s := range secrets {
		if err := i.Vault.Keep(s.name, s.value); err != nil {
			i.dropTokens(secrets[:n])
			if errors.Is(err, fs.ErrExist) { // by now: it is given another name
				return errChanged
			}
			return fmt.Errorf("keeping the secret %q: %w", s.name, err)
		}
	}
	return nil
}

// dropTokens removes secrets again, but for what somebody else has set meanwhile.
func (i *Installer) dropTokens(secrets []secret) {
	for _, s := range secrets {
		if value, err := i.Vault.Value(s.name); err == nil && value == s.value {
			_, _ = i.Vault.Forget(s.name)
		}
	}
}

// forgetTokens removes the secrets of a server whose client has it back, with its tokens: one that is not in the
// client's entry, however that writes it, was changed since, and is nowhere else.
func (i *Installer) forgetTokens(m Moved, restored any) (notes []string) {
	for _, t := range m.Tokens {
		vault := i.Vault.of(t.Tenant)
		if vault == nil {
			notes = append(notes, fmt.Sprintf("the secret %q stays: codemode cannot say what it is", t.Secret))
			continue
		}
		if names, err := vault.Names(); err == nil && !slices.Contains(names, t.Secret) {
			continue // somebody has removed it, or nobody lived to keep it
		}
		why := ""
		switch value, err := vault.Value(t.Secret); {
		case err != nil:
			why = err.Error()
		case !hasText(restored, value):
			why = "it was changed since"
		default:
			if why, err = vault.Forget(t.Secret); err != nil {
				why = err.Error()
			}
		}
		if why == "" {
			continue
		}
		whose := ""
		if vault != i.Vault {
			whose = fmt.Sprintf(" of tenant %q", vault.Tenant)
		}
		notes = append(notes, fmt.Sprintf("the secret %q%s stays: %s", t.Secret, whose, why))
	}
	return notes
}

// same says whether a server is codemode's already. Its tokens may have become secrets there.
func (i *Installer) same(own, e clientcfg.Entry) bool {
	if i.Vault != nil {
		own = clientcfg.WithSecrets(own, i.secretNamed)
	}
	return clientcfg.SameServer(own, e)
}

// secretNamed is the value of a secret that there is, or would be.
func (i *Installer) secretNamed(name string) (string, error) {
	for _, list := range i.planned {
		for _, s := range list {
			if s.name == name {
				return s.value, nil
			}
		}
	}
	return i.Vault.Value(name)
}
