package guest

import "encoding/json"

// Check asks what functions a source holds. None of it is executed.
type Check struct {
	Source string `json:"source"`
}

// Checked answers Check.
type Checked struct {
	Functions []Function `json:"functions"` // at the top of the source, in its order
	Rest      []Rest     `json:"rest"`      // what else is there
	Problem   string     `json:"problem"`   // why Python cannot read it; then there is nothing else
}

// Function is one function of a source, and whether it can be kept: executing its text would execute nothing but the
// def.
type Function struct {
	Name      string      `json:"name"`
	Line      int         `json:"line"`
	Problem   string      `json:"problem"` // why it cannot be kept; then there is nothing else
	Source    string      `json:"source"`  // its own lines
	Async     bool        `json:"async"`
	Signature string      `json:"signature"`
	Doc       string      `json:"doc"`
	Params    []Param     `json:"params"`
	Free      []string    `json:"free"` // global names it looks up, but for Python's own and codemode's
	Uses      [][2]string `json:"uses"` // servers and their tools that it names, by real names or aliases
}

// Rest is a statement that is no function.
type Rest struct {
	Line int    `json:"line"`
	What string `json:"what"` // "import"
}

// SaveTool asks the host to keep a function for later sessions. What the guest could say of it would prove nothing, so
// it says nothing else.
type SaveTool struct {
	Source  string `json:"source"`
	Replace bool   `json:"replace"` // even where there is another one of its name
}

// SavedQuery asks for saved tools: all of them, or one with its source.
type SavedQuery struct {
	Name string `json:"name"`
}

// SavedTools answers SavedQuery. There is none of a name nobody has saved.
type SavedTools struct {
	Tools []SavedTool `json:"tools"`
}

// SavedTool is a function that was saved.
type SavedTool struct {
	Name   string   `json:"name"`
	Hash   string   `json:"hash,omitempty"`
	Source string   `json:"source,omitempty"`
	Needs  []string `json:"needs,omitempty"` // other saved tools that it calls by their names
}

// AddServer asks for a server: an entry as a client's file has it, or the name that it has in a registry. Reason is the
// code's, for the user.
type AddServer struct {
	Name   string          `json:"name"`
	Entry  json.RawMessage `json:"entry,omitempty"`
	Reason string          `json:"reason"`
}

// AddPackages asks for packages by their names, with versions or without. Reason is the code's, for the user.
type AddPackages struct {
	Names  []string `json:"names"`
	Reason string   `json:"reason"`
}

// AddedPackages are what can be imported now, from a folder that the guest's sys.path is to have.
type AddedPackages struct {
	Path     string   `json:"path"`
	Packages []string `json:"packages"` // "pandas 2.3.1"
}

// AddedServer is the server as it is configured now.
type AddedServer struct {
	Name string `json:"name"`
}
