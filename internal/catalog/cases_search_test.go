package catalog

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestSearchCases is case 67: what people type, whole or misspelt, in another language, or nothing at all.
func TestSearchCases(t *testing.T) {
	catalog := New([]Server{
		NewServer("github", "github", "Issues and pull requests", []json.RawMessage{
			json.RawMessage(`{"name":"list_commits","description":"List the commits of a branch"}`),
			json.RawMessage(`{"name":"get_issue","description":"Get one issue of a repository"}`),
		}),
		NewServer("calendar", "calendar", "", []json.RawMessage{
			json.RawMessage(`{"name":"list_calendars","description":"List all calendars"}`),
			json.RawMessage(`{"name":"list_events","description":"List the events of a calendar"}`),
		}),
		NewServer("agenda", "agenda", "", []json.RawMessage{
			json.RawMessage(`{"name":"borrar_evento","description":"Borrar un evento"}`),
			json.RawMessage(`{"name":"nuevo","description":"Crear un evento en la agenda"}`),
		}),
	})
	for query, want := range map[string]string{
		"calendar events": "list_events",
		"githb isue":      "get_issue",
		"isue":            "get_issue",
		"crear un evento": "nuevo",
		"":                "",
	} {
		found := catalog.Search(query, 2)
		named := func(m Match) bool { return m.Tool.Name == want }
		if want == "" && len(found) > 0 || want != "" && !slices.ContainsFunc(found, named) {
			t.Errorf("Search(%q) finds %v, want %q among the first 2", query, found, want)
		}
	}
}
