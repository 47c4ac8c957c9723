package upstream

import "strings"

// baseNames are the variables every server gets from the user's environment, when they are set there;
// everything else it gets from its entry. They are what programs need to find themselves and their
// user, and what npm and uv, which start most servers, need to reach their registries behind a proxy.
var baseNames = append([]string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE",
	"LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS",
	"XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HTTP_PROXY",
	"HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE",
	"SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "npm_config_cache", "npm_config_prefix",
	"npm_config_registry", "npm_config_userconfig", "NPM_CONFIG_CACHE", "NPM_CONFIG_PREFIX", "NPM_CONFIG_REGISTRY",
	"NPM_CONFIG_USERCONFIG", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR",
}, systemNames...)

// environment is what of those names is set. On Windows names are in upper case: they are the same in any.
func environment(lookup func(string) (string, bool), names []string) map[string]string {
	env := make(map[string]string, len(names))
	for _, name := range names {
		// bash exports functions as values like these; they are code.
		if value, ok := lookup(name); ok && !strings.HasPrefix(value, "()") {
			setEnv(env, name, value)
		}
	}
	return env
}

// addressNames are those of baseNames whose values are addresses, which may have a password in them.
var addressNames = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
	"npm_config_registry", "NPM_CONFIG_REGISTRY",
}
