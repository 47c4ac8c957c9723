package config

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// Source is what settings are read from.
type Source struct {
	Lookup func(string) (string, bool) // the environment; nil is an empty one
	Dir    string                      // what relative paths in variables and flags are relative to
	File   string                      // config.toml given by --config; empty is CODEMODE_CONFIG, then the usual place
	Flags  map[string]any              // by key name: a string, or a []string for a list
}

// setting is one value that one layer holds for a key.
type setting struct {
	key   key
	raw   any
	where string // for people: the variable, the flag, file:line and the key
	at    place
	flag  bool // it was given on the command line
}

// Load reads every layer, later ones winning: defaults, config.toml, environment, flags. All that is
// wrong is reported at once, joined.
func Load(src Source) (Config, error) {
	if src.Lookup == nil {
		src.Lookup = func(string) (string, bool) { return "", false }
	}
	paths := FindPaths(src.Lookup, runtime.GOOS)
	at := place{dir: src.Dir, home: paths.Home}
	fromFile, own, errs := readFile(src, paths)

	k := koanf.New(".")
	origin := map[string]string{}
	for _, layer := range [][]setting{defaults(at), fromFile, fromEnvironment(src.Lookup, at), fromFlags(src.Flags, at)} {
		values := map[string]any{}
		for _, s := range layer {
			v, ok := s.key.kind.value(s.raw, s.at)
			if !ok {
				errs = append(errs, &ValueError{Where: s.where, Value: fmt.Sprint(s.raw), Forms: s.key.kind.forms, Flag: s.flag})
				continue
			}
			if s.key.adds {
				v = slices.Concat(v.([]string), k.Strings(s.key.name))
			}
			values[s.key.name] = v
			origin[s.key.name] = s.where
		}
		if err := k.Load(confmap.Provider(values, "."), nil); err != nil {
			errs = append(errs, fmt.Errorf("merging settings: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Config{}, err
	}
	var c Config
	if err := k.Unmarshal("", &c); err != nil {
		return Config{}, fmt.Errorf("resolving settings: %w", err)
	}
	c.Servers.Own = own
	if c.Run.Timeout <= c.Run.MaxTimeout {
		return c, nil
	}
	if origin["run.timeout"] == "run.timeout" { // nobody asked for the default: it follows the ceiling
		c.Run.Timeout = c.Run.MaxTimeout
		return c, nil
	}
	return Config{}, &CeilingError{
		Timeout: c.Run.Timeout.String(), TimeoutFrom: origin["run.timeout"],
		Max: c.Run.MaxTimeout.String(), CeilingFrom: origin["run.max_timeout"],
	}
}

func defaults(at place) []setting {
	layer := make([]setting, 0, len(keys))
	for _, k := range keys {
		def := k.def
		if at.home == "" && strings.HasPrefix(def, "~") {
			def = "" // without a home it would be a folder of that name
		}
		layer = append(layer, setting{key: k, raw: def, where: k.name, at: at})
	}
	return layer
}

// fromEnvironment takes the first variable of each key that is set to something.
func fromEnvironment(lookup func(string) (string, bool), at place) []setting {
	var layer []setting
	for _, k := range keys {
		for _, name := range k.variables() {
			if v, _ := lookup(name); v != "" {
				layer = append(layer, setting{key: k, raw: v, where: name, at: at})
				break
			}
		}
	}
	return layer
}

func fromFlags(flags map[string]any, at place) []setting {
	var layer []setting
	for _, k := range keys {
		v, ok := flags[k.name]
		if !ok {
			continue
		}
		if list, ok := v.([]string); ok {
			items := make([]any, len(list))
			for i, s := range list {
				items[i] = s
			}
			v = items
		}
		layer = append(layer, setting{key: k, raw: v, where: cmp.Or(k.flag, k.name), at: at, flag: true})
	}
	return layer
}
