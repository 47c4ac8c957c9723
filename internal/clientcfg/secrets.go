package clientcfg

import (
	"strings"

	"codemode/internal/config"
	"codemode/internal/redact"
)

// plainMembers are those of an entry whose texts are no secrets unless they look like one.
var plainMembers = map[string]bool{
	"command": true, "cmd": true, "path": true, "type": true, "transport": true,
	"name": true, "cwd": true, "source": true, "description": true, "url": true,
	"serverUrl": true, "httpUrl": true, "uri": true, "env_vars": true, "env_keys": true,
	"tools": true, "$schema": true,
}

// FileSecrets are the texts in a client's file that nobody else should see. What is not known to be harmless is one:
// files of clients hold more than servers.
//
// Only those that shown, a part of the file's text, could hold are looked at: some files are large.
func FileSecrets(root any, shown string) []string {
	c := &secretCollector{shown: shown, looked: map[string]bool{}, seen: map[string]bool{}}
	c.value("", root)
	return c.list
}

type secretCollector struct {
	shown  string
	looked map[string]bool
	list   []string
	seen   map[string]bool
}

func (c *secretCollector) add(s string) {
	if !c.seen[s] {
		c.seen[s] = true
		c.list = append(c.list, s)
	}
}

func (c *secretCollector) value(key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			c.value(name, member)
		}
	case []any:
		c.words(key, v)
	case string:
		c.text(key, v)
	}
}

// words are a list: of arguments, where one may say that the next is a secret.
func (c *secretCollector) words(key string, list []any) {
	var args []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			c.value(key, item)
			continue
		}
		args = append(args, s)
	}
	for _, secret := range Secrets(config.Server{Args: args}) {
		c.add(secret)
	}
}

func (c *secretCollector) text(key, s string) {
	first := s // as far as every format writes it as it is
	if end := strings.IndexFunc(
		s,
		func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\<>&`, r) },
	); end >= 0 {
		first = s[:end]
	}
	if c.looked[s] || !strings.Contains(c.shown, first) {
		return
	}
	c.looked[s] = !plainMembers[key]
	if plainMembers[key] {
		if (&redact.Finder{}).Text(s) != s {
			c.add(s)
		}
		return
	}
	if !onlyReference(key, s) {
		c.add(s)
	}
}

// onlyReference says whether a value is no secret, or nothing but a reference, in whichever dialect.
func onlyReference(key, s string) bool {
	for _, d := range []config.Dialect{
		config.DialectOwn, config.DialectEnvColon, config.DialectDollar, config.DialectCurly, config.DialectSecrets,
	} {
		if finderOf(d).Table(map[string]string{key: s})[key] == s {
			return true
		}
	}
	return false
}
