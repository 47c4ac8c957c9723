package clientcfg

import (
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

// IsSecret says whether nobody else should see the text of a member of a client's file. What is not known to be
// harmless is secret: files of clients hold more than servers.
func IsSecret(key, text string) bool {
	if plainMembers[key] {
		return (&redact.Finder{}).Text(text) != text
	}
	return !onlyReference(key, text)
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
