package config

import (
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"codemode/internal/lazyregexp"
	"codemode/internal/policy"
)

// kind is what a setting may be. All layers share it: config.toml's native values are taken as the text
// a user would have written elsewhere.
type kind struct {
	forms  string         // for people: what is accepted
	list   string         // separator of a list's items in a variable; empty for a single value
	native []string       // JSON types that config.toml may hold instead of text
	schema map[string]any // more of what the JSON schema says
	parse  func(text string, at place) (value any, ok bool)
}

// place is where a value was written; it decides what a relative path means.
type place struct {
	dir  string // of config.toml, or where codemode was started
	home string
}

// value turns what a layer holds into the setting's Go value.
func (k kind) value(raw any, at place) (any, bool) {
	if k.list == "" {
		return k.item(raw, at)
	}
	items, ok := k.items(raw)
	list := []string{}
	for _, item := range items {
		v, right := k.item(item, at)
		if !right {
			return nil, false
		}
		list = append(list, v.(string))
	}
	return list, ok
}

// items are the parts of a list, in text or in config.toml; false for what is neither.
func (k kind) items(raw any) (items []any, ok bool) {
	text, ok := raw.(string)
	if !ok {
		items, ok = raw.([]any)
		return items, ok
	}
	for part := range strings.SplitSeq(text, k.list) {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, part)
		}
	}
	return items, true
}

// item takes one value. Text is always right, since variables and flags have nothing else.
func (k kind) item(raw any, at place) (any, bool) {
	if !slices.ContainsFunc(append([]string{"string"}, k.native...), func(t string) bool { return isType(raw, t) }) {
		return nil, false
	}
	return k.parse(strings.TrimSpace(fmt.Sprint(raw)), at)
}

// isType says whether a value of config.toml is of a JSON type.
func isType(raw any, jsonType string) (ok bool) {
	switch jsonType {
	case "string":
		_, ok = raw.(string)
	case "boolean":
		_, ok = raw.(bool)
	case "integer":
		_, ok = raw.(int64)
	case "number":
		if _, ok = raw.(float64); !ok {
			_, ok = raw.(int64)
		}
	}
	return ok
}

var text = kind{forms: "text in quotes", parse: func(s string, _ place) (any, bool) { return s, true }}

func oneOf(words ...string) kind {
	return kind{
		forms:  strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1],
		schema: map[string]any{"enum": words},
		parse: func(s string, _ place) (any, bool) {
			s = strings.ToLower(s)
			return s, slices.Contains(words, s)
		},
	}
}

var address = kind{forms: "an http or https URL", parse: func(s string, _ place) (any, bool) {
	u, err := url.Parse(s)
	return s, s == "" || err == nil && u.Host != "" && slices.Contains([]string{"http", "https"}, u.Scheme)
}}

// safeAddress is one whose answers nobody on the way can change.
var safeAddress = kind{forms: "an https URL, or http on loopback", parse: func(s string, _ place) (any, bool) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return s, false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := err == nil && ip.IsLoopback() || u.Hostname() == "localhost"
	return s, u.Scheme == "https" || u.Scheme == "http" && loopback
}}

var words = kind{forms: "names separated by commas", list: ",", parse: text.parse}

var pairs = kind{forms: "NAME=VALUE, separated by commas", list: ",", parse: func(s string, _ place) (any, bool) {
	name, value, ok := strings.Cut(s, "=")
	return s, ok && name != "" && value != "" && strings.TrimSpace(name) == name && strings.TrimSpace(value) == value
}}

var requestPattern = lazyregexp.New(`^(cpu|memory)=[0-9]+(\.[0-9]+)?([munkKMGT]|[KMGT]i)?$`)

// requests are quantities of Kubernetes.
var requests = kind{
	forms: "cpu=QUANTITY, memory=QUANTITY, as Kubernetes writes them: 500m, 256Mi", list: ",",
	parse: func(s string, _ place) (any, bool) { return s, requestPattern().MatchString(s) },
}

// names are words whose case does not matter.
var names = kind{
	forms: words.forms, list: ",", parse: func(s string, _ place) (any, bool) { return strings.ToLower(s), true },
}

// globs are patterns for names. What is in no pattern of path.Match's is refused.
var globs = kind{
	forms: "patterns for names, separated by commas: * ? [a-z]",
	list:  ",",
	parse: func(s string, _ place) (any, bool) {
		return s, validGlob(s)
	},
}

// rules are patterns of policy.
var rules = kind{
	forms: policy.Forms, list: ",", parse: func(s string, _ place) (any, bool) { return s, policy.Valid(s) },
}

// grants are those that let a tool be called or seen: one that could be about another tool than is meant is refused.
var grants = kind{
	forms: policy.GrantForms, list: ",", parse: func(s string, _ place) (any, bool) {
		return s, policy.Valid(s) && policy.Readings(s) == nil
	},
}

var tenantName = kind{
	forms:  "a name of at most 32 lower case letters, digits, - and _",
	schema: map[string]any{"pattern": tenantPattern().String()},
	parse:  func(s string, _ place) (any, bool) { return s, validTenant(s) },
}

// logLevels are from the most that is said to the least.
var logLevels = []string{"debug", "info", "warn", "error"}

// logLevel takes Python's names too, which is what the Python original's users write.
var logLevel = kind{
	forms:  "debug, info, warn or error",
	schema: map[string]any{"enum": logLevels},
	parse: func(s string, _ place) (any, bool) {
		s = strings.ToLower(s)
		switch s {
		case "warning":
			return "warn", true
		case "critical", "fatal":
			return "error", true
		}
		return s, slices.Contains(logLevels, s)
	},
}

var boolean = kind{
	forms:  "1, true, yes or on; 0, false, no or off",
	native: []string{"boolean", "integer"},
	schema: map[string]any{"type": "boolean"},
	parse: func(s string, _ place) (any, bool) {
		switch strings.ToLower(s) {
		case "1", "true", "yes", "on":
			return true, true
		case "0", "false", "no", "off":
			return false, true
		}
		return nil, false
	},
}

// countFrom is a whole number with a floor.
func countFrom(least int) kind {
	return kind{
		forms:  fmt.Sprintf("a whole number from %d on", least),
		native: []string{"integer"},
		schema: map[string]any{"type": "integer", "minimum": least},
		parse: func(s string, _ place) (any, bool) {
			n, err := strconv.Atoi(s)
			return n, err == nil && n >= least
		},
	}
}

var number = kind{
	forms:  "a number such as 1 or 1.5; 0 is no limit",
	native: []string{"number"},
	schema: map[string]any{"type": "number", "minimum": 0},
	parse: func(s string, _ place) (any, bool) {
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil && f >= 0 && !math.IsInf(f, 1)
	},
}

// duration is a time or none; deadline must be some time.
var (
	duration = kind{
		forms:  "30, 30s or 2m",
		native: []string{"number"},
		schema: map[string]any{"minimum": 0},
		parse:  func(s string, _ place) (any, bool) { return parseDuration(s) },
	}
	deadline = kind{
		forms:  "a time above 0, such as 30, 30s or 2m",
		native: []string{"number"},
		schema: map[string]any{"exclusiveMinimum": 0},
		parse: func(s string, _ place) (any, bool) {
			d, ok := parseDuration(s)
			return d, ok && d > 0
		},
	}
)

// parseDuration takes plain numbers as seconds.
func parseDuration(s string) (time.Duration, bool) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		d := f * float64(time.Second)
		return time.Duration(d), d >= 0 && d < math.MaxInt64
	}
	d, err := time.ParseDuration(strings.ToLower(s))
	return d, err == nil && d >= 0
}

// Units are powers of 1024 whatever they are called, as in docker-run(1).
var sizePattern = lazyregexp.New(`^([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?$`)

var size = kind{
	forms:  "bytes, or 512k, 512m, 1g, 1GiB",
	native: []string{"integer"},
	schema: map[string]any{"minimum": 1},
	parse: func(s string, _ place) (any, bool) {
		m := sizePattern().FindStringSubmatch(strings.ToLower(s))
		if m == nil {
			return nil, false
		}
		n, err := strconv.ParseFloat(m[1], 64)
		shift := map[string]int{"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[m[2]]
		n *= float64(int64(1) << shift)
		return int64(n), err == nil && n >= 1 && n < math.MaxInt64
	},
}

// sizeFrom is a size with a floor, which is written as a user would.
func sizeFrom(least string) kind {
	floor, _ := size.parse(least, place{})
	return kind{
		forms:  size.forms + ", at least " + least,
		native: size.native,
		schema: map[string]any{"minimum": floor},
		parse: func(s string, at place) (any, bool) {
			v, ok := size.parse(s, at)
			return v, ok && v.(int64) >= floor.(int64)
		},
	}
}

var userPattern = lazyregexp.New(`^[0-9]+:[0-9]+$`)

var userGroup = kind{
	forms:  "uid:gid, such as 65534:65534",
	schema: map[string]any{"pattern": userPattern().String()},
	parse:  func(s string, _ place) (any, bool) { return s, userPattern().MatchString(s) },
}

// anyPath is a file or folder; what is relative is so to where it was written.
var anyPath = kind{forms: "a path", parse: func(s string, at place) (any, bool) { return at.resolve(s), true }}

var files = kind{
	forms: "paths, separated by " + strconv.Quote(string(filepath.ListSeparator)),
	list:  string(filepath.ListSeparator), parse: anyPath.parse,
}

// program is a path, or a bare name to be found in PATH.
var program = kind{forms: "a path or the name of a program", parse: func(s string, at place) (any, bool) {
	if !isPath(s) {
		return s, true
	}
	return at.resolve(s), true
}}

// runtimes are those there are. The last is tried only where it is asked for: pods are made in somebody's cluster.
var runtimes = []string{"native", "podman", "docker", "kubernetes"}

// runtimeName is a runtime, or the path of a container engine's command.
var runtimeName = kind{
	forms: "auto, native, podman, docker, kubernetes or a path to an engine",
	parse: func(s string, at place) (any, bool) {
		if isPath(s) {
			return at.resolve(s), true
		}
		return oneOf(append([]string{RuntimeAuto}, runtimes...)...).parse(s, at)
	},
}

var runtimeOrder = kind{
	forms: "names separated by commas: " + strings.Join(runtimes, ", "), list: ",",
	schema: map[string]any{"enum": runtimes},
	parse:  oneOf(runtimes...).parse,
}

func isPath(s string) bool {
	return strings.HasPrefix(s, "~") || strings.ContainsRune(s, '/') || strings.ContainsRune(s, filepath.Separator)
}

// resolve makes a path absolute. The empty path stays empty.
func (at place) resolve(s string) string {
	if rest, ok := strings.CutPrefix(s, "~"); ok && at.home != "" &&
		(rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		return filepath.Join(at.home, rest)
	}
	if s == "" || filepath.IsAbs(s) {
		return s
	}
	return filepath.Join(at.dir, s)
}
