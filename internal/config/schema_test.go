package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var fix = flag.Bool("fix", false, "rewrite docs/config.schema.json")

func TestDocsSchemaIsFresh(t *testing.T) {
	const name = "../../docs/config.schema.json"
	want := Schema()
	if *fix {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v); run: go test ./internal/config -run Docs -fix", name, err)
	}
}

// TestSchemaKnowsEveryKey holds that the schema has each key where the file has it, with the default of the table,
// and that a tenant has all but the one that chooses the tenant.
func TestSchemaKnowsEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	find := func(schema map[string]any, name string) (found map[string]any) {
		for part := range strings.SplitSeq(name, ".") {
			properties, _ := schema["properties"].(map[string]any)
			if schema["additionalProperties"] != false {
				t.Errorf("%s: a misspelt neighbour would pass", name)
			}
			schema, _ = properties[part].(map[string]any)
		}
		return schema
	}
	tenant := schema["$defs"].(map[string]any)["tenant"].(map[string]any)
	for _, k := range keys {
		property := find(schema, k.name)
		if property["description"] != k.doc {
			t.Errorf("%s is not described: %v", k.name, property)
		}
		if got := find(tenant, k.name); (got == nil) != (k.name == "tenant") {
			t.Errorf("%s of a tenant: %v", k.name, got)
		}
		def, hasDefault := property["default"]
		if hasDefault != (k.def != "") {
			t.Errorf("%s: default %v, want %q", k.name, def, k.def)
		}
		if !hasDefault {
			continue
		}
		if n, ok := def.(float64); ok && n == float64(int64(n)) {
			def = int64(n) // as TOML has it
		}
		got, ok := k.kind.value(def, place{})
		want, _ := k.kind.value(k.def, place{})
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: default %v means %v, want %v", k.name, def, got, want)
		}
	}
}

// TestSampleChangesNothing takes every # away: what remains is the defaults, for the settings.
func TestSampleChangesNothing(t *testing.T) {
	sample := Sample()
	lookup := env("HOME=/home/a")
	want, err := Load(Source{Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Load(Source{Lookup: lookup, File: writeFile(t, sample)}); err != nil ||
		!reflect.DeepEqual(got, want) {
		t.Errorf("as it is: %v\n got %+v\nwant %+v", err, got, want)
	}
	settings := regexp.MustCompile(`(?m)^# ([a-z_.]+ = |\[)`).ReplaceAllString(sample, "$1")
	e, err := Explain(Source{Lookup: lookup, File: writeFile(t, settings)})
	if err != nil {
		t.Fatal(err)
	}
	got := e.Config
	if len(got.Servers.Own) != 1 || got.Servers.Own["memory"].Command != "npx" {
		t.Errorf("its server: %v", got.Servers.Own)
	}
	got.Servers.Own, got.Servers.Files, got.Policy.Places = want.Servers.Own, nil, nil
	want.Servers.Files, want.Policy.Places, got.Lines, got.Tenants = nil, nil, nil, want.Tenants
	if !reflect.DeepEqual(got, want) {
		t.Errorf("uncommented\n got %+v\nwant %+v", got, want)
	}
	for _, v := range e.Values {
		if v.Layer != User || v.Line == 0 {
			t.Errorf("%s is not in it: %+v", v.Name, v)
		}
	}
	if want := []string{"default", "work"}; !reflect.DeepEqual(e.Tenants, want) {
		t.Errorf("tenants %v, want %v", e.Tenants, want)
	}
}

// TestSafeAddress holds that nobody on the way can change what an address that decides what is started answers.
func TestSafeAddress(t *testing.T) {
	for text, want := range map[string]bool{
		"https://registry.example": true, "https://registry.example/sub/": true, "http://127.0.0.1:8080": true,
		"http://localhost:1": true, "http://[::1]:1/x": true, "http://registry.example": false, "http://10.0.0.1": false,
		"http://localhost.example": false, "ftp://127.0.0.1": false, "registry.example": false, "": false,
		"https://": false, "https://registry.example?a=b": false, "https://registry.example#a": false,
	} {
		if _, ok := safeAddress.parse(text, place{}); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
}
