package config

import "path/filepath"

// Paths are the folders codemode keeps its files in. An empty one means that the environment names no
// home to put it in.
type Paths struct {
	Home   string // the user's
	Config string // config.toml
	Cache  string // what can be made again: Python, tool catalogs
	State  string // what cannot: saved tools, audit log
}

// FindPaths follows the XDG Base Directory Specification 0.8, whose variables win on every system, and
// otherwise each system's own habit: Apple's File System Programming Guide, Microsoft's known folders.
func FindPaths(lookup func(string) (string, bool), goos string) Paths {
	// "If an implementation encounters a relative path in any of these variables it should consider the
	// path invalid and ignore it." A relative home is no better.
	get := func(name string) string {
		if v, _ := lookup(name); filepath.IsAbs(v) {
			return v
		}
		return ""
	}
	p := Paths{Home: get("HOME")}
	switch goos {
	case "windows":
		p.Home = get("USERPROFILE")
		p.Config = under(get("APPDATA"), "codemode")
		p.Cache = under(get("LOCALAPPDATA"), "codemode", "cache")
		p.State = under(get("LOCALAPPDATA"), "codemode", "state")
	case "darwin":
		p.Config = under(p.Home, "Library", "Application Support", "codemode")
		p.Cache = under(p.Home, "Library", "Caches", "codemode")
		p.State = under(p.Home, "Library", "Application Support", "codemode", "state")
	default:
		p.Config = under(p.Home, ".config", "codemode")
		p.Cache = under(p.Home, ".cache", "codemode")
		p.State = under(p.Home, ".local", "state", "codemode")
	}
	for _, xdg := range []struct {
		name string
		dir  *string
	}{{"XDG_CONFIG_HOME", &p.Config}, {"XDG_CACHE_HOME", &p.Cache}, {"XDG_STATE_HOME", &p.State}} {
		if dir := get(xdg.name); dir != "" {
			*xdg.dir = under(dir, "codemode")
		}
	}
	return p
}

// configFile is where config.toml is looked for.
func (p Paths) configFile() string { return under(p.Config, "config.toml") }

// TenantState is where a tenant keeps what cannot be made again. No other tenant uses it.
func (p Paths) TenantState(tenant string) string { return under(p.State, tenant) }

// TenantCache is where a tenant keeps what can be made again and is not for others to see. What holds nothing of
// anybody's, such as Python, is in Cache itself.
func (p Paths) TenantCache(tenant string) string { return under(p.Cache, "tenants", tenant) }

// under joins, unless there is nothing to join to.
func under(dir string, names ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, names...)...)
}
