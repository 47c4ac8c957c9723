package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of config.toml, for editors. It is made from the table of keys. It
// allows what people should write; codemode also takes text wherever a variable would.
func Schema() []byte {
	all := settingsSchema()
	properties := all["properties"].(map[string]any)
	tenant := maps.Clone(all)
	tenant["properties"] = maps.Clone(properties)
	delete(tenant["properties"].(map[string]any), "tenant")
	tenant["description"] = "what a tenant has of its own; everything else is as at the top level"

	properties["tenants"] = map[string]any{
		"type": "object", "additionalProperties": map[string]any{"$ref": "#/$defs/tenant"},
		"propertyNames": map[string]any{"pattern": tenantPattern().String()},
	}
	all["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	all["title"] = "codemode's config.toml"
	all["$defs"] = map[string]any{"tenant": tenant, "server": serverSchema()}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(all); err != nil {
		panic(err) // it is made of texts and numbers
	}
	return b.Bytes()
}

func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

func settingsSchema() map[string]any {
	top := map[string]any{"servers": map[string]any{
		"type": "object", "additionalProperties": map[string]any{"$ref": "#/$defs/server"},
		"description": "MCP servers of your own",
	}}
	for _, k := range keys {
		table := top
		path := strings.Split(k.name, ".")
		for _, name := range path[:len(path)-1] {
			if table[name] == nil {
				table[name] = object(map[string]any{})
			}
			table = table[name].(map[string]any)["properties"].(map[string]any)
		}
		table[path[len(path)-1]] = k.schema()
	}
	return object(top)
}

// schema is what config.toml may hold for a key.
func (k key) schema() map[string]any {
	s := map[string]any{"type": "string"}
	if k.kind.native != nil {
		s["type"] = append([]string{"string"}, k.kind.native...)
	}
	maps.Copy(s, k.kind.schema)
	if k.kind.list != "" {
		s = map[string]any{"type": "array", "items": s}
	}
	s["description"] = k.doc
	if v, ok := k.kind.value(k.def, place{}); ok && k.def != "" {
		s["default"] = written(v)
		if k.kind.list == "" && s["type"] == "string" {
			s["default"] = k.def // a path would have become absolute
		}
	}
	return s
}

// serverSchema is that of the fields NewServer takes.
func serverSchema() map[string]any {
	text := map[string]any{"type": "string"}
	scalar := map[string]any{"type": []string{"string", "number", "boolean"}}
	table := map[string]any{"type": "object", "additionalProperties": scalar}
	names := map[string]any{"type": "array", "items": text}
	wait := key{kind: deadline}.schema()
	delete(wait, "description") // there is none of its own
	memory := key{kind: serverMemory}.schema()
	delete(memory, "description")
	known := map[string]any{
		"args": map[string]any{"type": "array", "items": scalar}, "env": table,
		"headers": table, "disabled": map[string]any{"type": "boolean"},
		"type": map[string]any{"enum": []string{Stdio, HTTP, SSE}}, "include_tools": names,
		"exclude_tools": names, "start_timeout": wait, "call_timeout": wait,
		"sandbox":       map[string]any{"enum": []string{SandboxNative, SandboxKubernetes, SandboxOff}},
		"sandbox_read":  names,
		"sandbox_write": names, "sandbox_network": map[string]any{"type": "boolean"}, "sandbox_memory": memory,
	}
	properties := map[string]any{}
	for _, field := range ServerFields {
		properties[field] = text
		if s, ok := known[field]; ok {
			properties[field] = s
		}
	}
	s := object(properties)
	s["anyOf"] = []any{map[string]any{"required": []string{"command"}}, map[string]any{"required": []string{"url"}}}
	return s
}
