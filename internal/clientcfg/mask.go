package clientcfg

import (
	"errors"
	"strings"

	"codemode/internal/config"
	"codemode/internal/redact"
)

// Masked is a server as people may see it. Of environment and headers, references such as ${TOKEN} remain, and what is
// no secret by the rule of package redact; of arguments, folders and URL, what does not look like one.
func Masked(s config.Server) config.Server { return mask(finderOf(s.Dialect), s) }

// Secrets are the texts that Masked leaves out.
func Secrets(s config.Server) []string {
	f := finderOf(s.Dialect)
	mask(f, s)
	return f.Found
}

func mask(f *redact.Finder, s config.Server) config.Server {
	s.Description, s.Command = f.Text(s.Description), f.Text(s.Command)
	s.Args = f.Args(s.Args)
	s.Env, s.Headers = f.Table(s.Env), f.Table(s.Headers)
	s.Cwd, s.EnvFile = f.Text(s.Cwd), f.Text(s.EnvFile)
	if s.Sandbox != nil {
		restrictions := *s.Sandbox
		restrictions.Image = f.Text(restrictions.Image)
		restrictions.Read, restrictions.Write = f.Args(restrictions.Read), f.Args(restrictions.Write)
		s.Sandbox = &restrictions
	}
	if s.OAuth != nil {
		o := *s.OAuth
		o.ClientID, o.Scopes = f.Text(o.ClientID), f.Args(o.Scopes)
		o.Secret = f.Table(map[string]string{ClientSecret: o.Secret})[ClientSecret]
		s.OAuth = &o
	}
	if _, err := checkURL(s.Name, s.URL); s.URL != "" && err != nil {
		s.URL = f.Hide(s.URL) // it is anything but a URL
	}
	s.URL = f.Text(s.URL)
	return s
}

// finderOf finds the secrets of an entry whose references are of a dialect.
func finderOf(d config.Dialect) *redact.Finder {
	return &redact.Finder{References: func(s string, replace func(redact.Reference) string) string {
		return replaceRefs(d, s, func(ref Ref) string {
			inner := ref.Default
			if strings.HasPrefix(ref.Asks, "$(") {
				inner = strings.Trim(ref.Asks, "$()")
			}
			return replace(redact.Reference{Text: ref.Text, Inner: inner})
		})
	}}
}

// MaskText is a text, such as an address, without what looks like a secret in it.
func MaskText(text string) string { return (&redact.Finder{}).Text(text) }

// HideSecrets is an error without what a server is sent by its entry, and by its sign-in as this client: the server may
// say it, and in its documents says what it likes.
func HideSecrets(err error, s config.Server, client config.OAuth) error {
	secrets := &redact.Secrets{}
	for name, value := range s.Headers {
		secrets.AddNamed(name, value)
	}
	secrets.AddNamed("client_secret", client.Secret)
	secrets.AddIn(s.URL)
	if text := secrets.Redactor().Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
