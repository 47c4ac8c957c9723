package registry

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"codemode/internal/lazyregexp"
)

// What a registry says of a server's state; no word is as good as Active.
const (
	Active     = "active"
	Deprecated = "deprecated"
	Deleted    = "deleted"
)

// A Server is what a publisher says of one version of a server, as server.json has it:
// github.com/modelcontextprotocol/registry, docs/reference/api/openapi.yaml of 2025-12-01.
type Server struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Website     string `json:"websiteUrl"`
	Repository  struct {
		URL string `json:"url"`
	} `json:"repository"`
	Packages []Package   `json:"packages"`
	Remotes  []Transport `json:"remotes"`
	Status   string      `json:"status"`

	Message string `json:"-"` // why it is deprecated or deleted
	old     bool   // there is a later version
}

// A Package is a program that can be fetched and started.
type Package struct {
	Type       string    `json:"registryType"`
	Base       string    `json:"registryBaseUrl"`
	Identifier string    `json:"identifier"`
	Version    string    `json:"version"`
	Transport  Transport `json:"transport"`
	Runtime    []Input   `json:"runtimeArguments"`
	Arguments  []Input   `json:"packageArguments"`
	Env        []Input   `json:"environmentVariables"`
}

// A Transport is how a server is spoken to.
type Transport struct {
	Type      string           `json:"type"`
	URL       string           `json:"url"`
	Headers   []Input          `json:"headers"`
	Variables map[string]Input `json:"variables"`
}

// An Input is a value that a server is given: an argument, a variable of the environment, a header, a part of these.
type Input struct {
	Type        string           `json:"type"` // of an argument: positional or named
	Name        string           `json:"name"`
	ValueHint   string           `json:"valueHint"`
	Description string           `json:"description"`
	Format      string           `json:"format"`
	Value       scalar           `json:"value"`
	Default     scalar           `json:"default"`
	Required    bool             `json:"isRequired"`
	Secret      bool             `json:"isSecret"`
	Choices     []string         `json:"choices"`
	Variables   map[string]Input `json:"variables"`
}

// scalar is a text, for which publishers also write numbers and booleans.
type scalar string

func (s *scalar) UnmarshalJSON(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
	case string:
		*s = scalar(v)
	case bool, float64:
		*s = scalar(data)
	default:
		return errors.New("a value is neither text nor a number")
	}
	return nil
}

// serverName is that of a server in a registry: a domain backwards, and a serverName in it.
var serverName = lazyregexp.New(`^[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+/[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// IsName says whether a text could be the name of a server in a registry.
func IsName(text string) bool { return len(text) <= 200 && serverName().MatchString(text) }

// parse reads a server as the registry's interface wraps it.
func parse(data []byte) (Server, error) {
	var answer struct {
		Server json.RawMessage `json:"server"`
		Meta   struct {
			Official struct {
				Status  string `json:"status"`
				Message string `json:"statusMessage"`
				Latest  *bool  `json:"isLatest"`
			} `json:"io.modelcontextprotocol.registry/official"`
		} `json:"_meta"`
	}
	var s Server
	if err := json.Unmarshal(data, &answer); err != nil {
		return s, shape(err)
	}
	if err := json.Unmarshal(answer.Server, &s); err != nil {
		return s, shape(err)
	}
	if !IsName(s.Name) {
		return s, errors.New("it has no name that a server could have")
	}
	official := answer.Meta.Official
	if official.Status != "" {
		s.Status, s.Message = official.Status, official.Message
	}
	s.old = official.Latest != nil && !*official.Latest
	return s, nil
}

// shape says which member is of another type than it must be.
func shape(err error) error {
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) && e.Field != "" {
		return errors.New("its member " + clipped(e.Field) + " is a " + e.Value)
	}
	return errors.New("it is no server of a registry")
}

// has says whether all words are in what people read of a server. The longest is what the registry has looked for
// itself, and may have found elsewhere.
func (s Server) has(words []string) bool {
	text := strings.ToLower(s.Name + "\n" + s.Title + "\n" + s.Description)
	sent := longest(words)
	return !slices.ContainsFunc(words, func(w string) bool {
		return w != sent && !strings.Contains(text, strings.ToLower(w))
	})
}

// Remote is the kind of what is reached by URL; the others are types of packages.
const Remote = "remote"

// Kinds are those in which a server is offered.
func (s Server) Kinds() (kinds []string) {
	for _, p := range s.Packages {
		if !slices.Contains(kinds, p.Type) && p.Type != "" {
			kinds = append(kinds, p.Type)
		}
	}
	if len(s.Remotes) > 0 {
		kinds = append(kinds, Remote)
	}
	return kinds
}
