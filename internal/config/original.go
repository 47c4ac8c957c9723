package config

import "codemode/internal/lazyregexp"

// asOriginal are settings that the Python original's variables mean besides what they name: it ran code in a
// container of that image, and fetched an image that was missing. What anybody sets himself wins.
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

// setBy is what settings are from: the variables of the environment, and places in files.
func (m *merger) setBy() (variables, places map[string]string) {
	for name, s := range m.origin {
		switch {
		case s.layer == Environment:
			variables = with(variables, name, s.name)
		case s.file != "":
			places = with(places, name, s.roughly())
		}
	}
	return variables, places
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

var (
	assigned = lazyregexp.New(`\b([a-z_.]+\.[a-z_]+) = "?([\w/.:-]+)"?`)
	named    = lazyregexp.New("(`?)\\b([a-z_]+(?:\\.[a-z_]+)+)\\b(`?)")
)

// Name has texts call settings by what has set them: a variable of the environment, or a line of a file. The key
// elsewhere would be set in vain.
func (c Config) Name(texts []string) []string {
	list := make([]string, len(texts))
	for n, text := range texts {
		text = assigned().ReplaceAllStringFunc(text, func(found string) string {
			m := assigned().FindStringSubmatch(found)
			if name, ok := c.Variables[m[1]]; ok {
				return name + "=" + m[2]
			}
			return found
		})
		list[n] = named().ReplaceAllStringFunc(text, func(found string) string {
			m := named().FindStringSubmatch(found)
			if name, ok := c.Variables[m[2]]; ok {
				return m[1] + name + m[3]
			}
			if place, ok := c.Lines[m[2]]; ok && m[1] == m[3] {
				return found + " (" + place + ")"
			}
			return found
		})
	}
	return list
}
