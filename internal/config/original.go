package config

import (
	"regexp"
	"strings"
)

// asOriginal are settings that the Python original's variables mean besides what they name: it ran code in a container of that
// image, and fetched an image that was missing. What anybody sets himself wins.
func asOriginal(environment []setting, at place) []setting {
	var layer []setting
	say := func(key, value string, by setting) {
		for _, k := range keys {
			if k.name == key {
				layer = append(layer, setting{key: k, raw: value, layer: Environment, name: by.name, at: at})
			}
		}
	}
	for _, s := range environment {
		switch {
		case s.name == "MCP_BRIDGE_IMAGE":
			say("sandbox.order", "podman,docker,native", s)
			say("sandbox.pull", "missing", s)
		case s.name == "MCP_BRIDGE_RUNTIME" && s.raw != RuntimeNative && s.raw != RuntimeAuto:
			say("sandbox.pull", "missing", s)
		}
	}
	return layer
}

// variablesOf are the variables of the environment that settings are from.
func (m *merger) variablesOf() map[string]string {
	from := map[string]string{}
	for name, s := range m.origin {
		if s.layer == Environment {
			from[name] = s.name
		}
	}
	return from
}

var (
	assigned = regexp.MustCompile(`\b([a-z_.]+\.[a-z_]+) = "?([\w/.:-]+)"?`)
	named    = regexp.MustCompile(`\b[a-z_]+(?:\.[a-z_]+)+\b`)
)

// Name gives texts the names that a user knows settings by: a variable of the environment, where that has set one. The key in a
// file would be set in vain.
func (c Config) Name(texts []string) []string {
	if len(c.Variables) == 0 {
		return texts
	}
	list := make([]string, len(texts))
	for n, text := range texts {
		text = assigned.ReplaceAllStringFunc(text, func(found string) string {
			m := assigned.FindStringSubmatch(found)
			if name, ok := c.Variables[m[1]]; ok {
				return name + "=" + strings.Trim(m[2], `"`)
			}
			return found
		})
		list[n] = named.ReplaceAllStringFunc(text, func(key string) string {
			if name, ok := c.Variables[key]; ok {
				return name
			}
			return key
		})
	}
	return list
}
