package clientcfg

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"codemode/internal/config"
)

// identity hashes what an entry starts, however it is written: two entries with the same one are one server. Variables
// and folders of in are as their values; secrets and files, for which somebody would have to be asked, are as they are
// written, and so is each reference where in has no variables. unpinned is the same without the versions of packages.
// No part of a secret can be read from it.
func identity(e Entry, in Env) (key, unpinned string) {
	s := resolved{e.Server, in}
	if s.Transport != config.Stdio {
		key = hash(s.httpParts(s.URL, s.headers())...)
		return key, key
	}
	words, assigned := s.words()
	env := append(s.variables(), assigned...)
	slices.Sort(env)
	p, ok := packageOf(words)
	if !ok {
		words[0] = strings.TrimSuffix(words[0], ".exe")
		key = hash(
			slices.Concat([]string{"stdio"}, words, []string{"\x00env"}, env, []string{"\x00cwd", e.explicit})...)
		return key, key
	}
	if p.name() == "mcp-remote" {
		if target, headers, ok := remote(p.args); ok {
			// It is the same as the URL itself, but mcp-remote can sign in where that is needed, and must not be hidden
			// by an entry with which codemode cannot: drop the first part when it can.
			key = hash(append([]string{"by command"}, s.httpParts(target, headers)...)...)
			return key, key
		}
	}
	spec := strings.TrimSuffix(p.spec, "@latest")
	tail := slices.Concat(p.options, p.args, []string{"\x00env"}, env, []string{"\x00cwd", e.explicit})
	return hash(
			append([]string{"stdio", p.family, spec}, tail...)...), hash(
			append([]string{"stdio", p.family, p.name()}, tail...)...)
}

// resolved is an entry whose references are replaced by their values, as far as the environment has these.
type resolved struct {
	config.Server
	in Env
}

// words are those of a command without what only stands before it, and the variables that are set there.
func (s resolved) words() (words, assigned []string) {
	words = []string{s.normal(s.Dialect, s.Command)}
	for _, arg := range s.Args {
		words = append(words, s.normal(s.Dialect, arg))
	}
	return unwrap(words)
}

// programs are the identities, by its command and by its address, that an entry would have without variables, folder
// and headers: what can be compared where those are not known.
func (e Entry) programs(in Env) (keys []string) {
	s := resolved{e.Server, in}
	if s.Command != "" {
		words, _ := s.words()
		bare := config.Server{Transport: config.Stdio, Dialect: config.DialectNone, Command: words[0], Args: words[1:]}
		key, _ := identity(Entry{Server: bare}, in)
		keys = append(keys, key)
	}
	if s.URL != "" {
		keys = append(keys, hash(s.httpParts(s.URL, nil)...))
	}
	return keys
}

// normal replaces references by their values, as far as the environment has these, and writes the others one way, so
// that ${env:GH} and {env:GH} are the same.
func (s resolved) normal(d config.Dialect, text string) string {
	return replaceRefs(d, text, func(r Ref) string {
		if s.in.Lookup != nil && r.Secret == "" && r.File == "" && r.Asks == "" {
			x := &expansion{server: s.Server, from: Resolver{OS: s.in.OS, Home: s.in.Home, Lookup: s.in.Lookup}}
			if value := x.ref(r); x.err == nil {
				return value
			}
		}
		parts := []string{r.Variable, r.Default, r.File, r.Folder, r.Asks, r.Secret}
		return "\x01" + strings.Join(parts, "\x02") + "\x01"
	})
}

func (s resolved) refTo(variable string) string {
	return s.normal(config.DialectBraces, "${"+variable+"}")
}

// variables are the environment of an entry as NAME=VALUE.
func (s resolved) variables() []string {
	env := make(map[string]string, len(s.Env)+len(s.EnvPass))
	for _, name := range s.EnvPass {
		env[name] = s.refTo(name)
	}
	for name, value := range s.Env {
		d := s.Dialect
		if of, _ := d.Client(); of == config.DialectLeadingDollar && !strings.HasPrefix(value, "$") {
			d = d.Literal()
		}
		env[name] = s.normal(d, value)
	}
	list := make([]string, 0, len(env)+1)
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	for _, name := range s.EnvUnset {
		list = append(list, "\x00unset="+name)
	}
	if s.EnvFile != "" {
		list = append(list, "\x00file="+s.EnvFile)
	}
	return list
}

// headers are those of an entry as "name: value". Any of them may be what tells two accounts apart.
func (s resolved) headers() (list []string) {
	for name, value := range s.Headers {
		list = append(list, strings.ToLower(name)+": "+s.normal(s.Dialect, value))
	}
	for name, variable := range s.HeadersFrom {
		list = append(list, strings.ToLower(name)+": "+s.refTo(variable))
	}
	if s.BearerFrom != "" {
		list = append(list, "authorization: Bearer "+s.refTo(s.BearerFrom))
	}
	return list
}

func (s resolved) httpParts(text string, headers []string) []string {
	text = s.normal(s.Dialect, text)
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		host := strings.ToLower(u.Host)
		if scheme := strings.ToLower(u.Scheme); scheme == "https" {
			host = strings.TrimSuffix(host, ":443")
		} else if scheme == "http" {
			host = strings.TrimSuffix(host, ":80")
		}
		text = strings.ToLower(u.Scheme) + "://" + u.User.String() + "@" + host + strings.TrimRight(
			u.EscapedPath(), "/",
		) + "?" + u.Query().
			Encode()
	}
	slices.Sort(headers)
	return append([]string{"http", text}, headers...)
}

// remote reads the arguments of mcp-remote, which makes an HTTP server look like one of stdio.
func remote(args []string) (target string, headers []string, ok bool) {
	for i, arg := range args {
		if strings.Contains(arg, "://") && target == "" {
			target = arg
		}
		if arg == "--header" && i+1 < len(args) {
			name, value, _ := strings.Cut(args[i+1], ":")
			headers = append(headers, strings.ToLower(strings.TrimSpace(name))+": "+strings.TrimSpace(value))
		}
	}
	return target, headers, target != ""
}

// fingerprint hashes all of an entry that decides what happens when it is used, for approval.
func fingerprint(s config.Server) string {
	s.Name, s.Source, s.Disabled, s.StartTime, s.CallTime = "", "", false, 0, 0
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of texts
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0, 0xff})
	}
	return string(h.Sum(nil))
}
