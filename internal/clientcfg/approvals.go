package clientcfg

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"codemode/internal/atomicfile"
	"codemode/internal/config"
	"codemode/internal/fileerr"
	"codemode/internal/filelock"
	"codemode/internal/hint"
)

// Approvals are the user's approvals of entries in projects' files, and of what else such a file asks for. Each is for
// the content at that time. The file is read once and rewritten as a whole, under a lock: a second codemode that
// approves at the same time loses nothing.
type Approvals struct {
	file string
	list []approval
}

// approval pins one entry. What it says is kept as a hash: it may hold a secret.
type approval struct {
	Project string `json:"project"` // absolute
	File    string `json:"file"`    // absolute
	Server  string `json:"server"`  // "" of a request
	Hash    string `json:"hash"`
}

// approvalsFile is the file's form. A version that is not known is not written over.
type approvalsFile struct {
	Version  int        `json:"version"`
	Approved []approval `json:"approved"`
}

const approvalsVersion = 1

// LoadApprovals reads the file, which need not exist. With an error nothing is approved.
func LoadApprovals(file string) (*Approvals, error) {
	a := &Approvals{file: file}
	list, err := a.read()
	a.list = list
	return a, err
}

// Approved says whether the user has agreed to the entry as it is now. What is not of a project needs no
// approval.
func (a *Approvals) Approved(e Entry) bool {
	if e.Scope != Project {
		return true
	}
	if e.Server.EnvFile != "" && e.Server.EnvHash == "" {
		e.Server.EnvHash = hashEnvFile(e.Server)
	}
	p := pin(e)
	return a != nil && p.Hash != "" && slices.Contains(a.list, p)
}

// knew says whether the user has agreed to the entry as it was.
func (a *Approvals) knew(e Entry) bool {
	return a != nil && slices.ContainsFunc(a.list, pin(e).sameEntry)
}

// Approve pins the entry as it is now, and forgets what it said before.
func (a *Approvals) Approve(e Entry) error {
	if e.Scope != Project || e.Status == Invalid {
		return fmt.Errorf(
			"approving server %q: its entry in %q is not one that approval is for", e.Written, e.Server.Source,
		)
	}
	p := pin(e)
	if p.Hash == "" {
		return fmt.Errorf(
			"approving server %q: its file of variables %q is not a plain file within the project", e.Written,
			e.Server.EnvFile,
		)
	}
	return a.change(p, ofServer(e), func(list []approval) []approval { return append(list, p) })
}

func ofServer(e Entry) string { return fmt.Sprintf("server %q", e.Written) }

// Standing are the entries that the user has agreed to, there or not, as far as approvals tell: a name, a file, and the
// folder of the project as it was named then. What they said is not known.
func (a *Approvals) Standing() (list []Entry) {
	for _, p := range a.list {
		if p.Server != "" {
			s := config.Server{Name: p.Server, Project: p.folder(), Source: p.File}
			list = append(list, Entry{Server: s, Written: p.Server, Scope: Project})
		}
	}
	return list
}

// Folders are those of the projects of which the user has agreed to something: a server, or what a file asks for.
func (a *Approvals) Folders() (list []string) {
	for _, p := range a.list {
		list = append(list, p.folder())
	}
	return list
}

// folder is the one above the file that leads to the project, else the project's real one.
func (p approval) folder() string {
	for dir := filepath.Dir(p.File); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if placeOf(dir) == p.Project {
			return dir
		}
	}
	return p.Project
}

// Same says whether two are one entry of a project's file, whatever each says.
func (e Entry) Same(f Entry) bool {
	return e.Scope == Project && f.Scope == Project && e.Written == f.Written && e.Server.Source == f.Server.Source
}

// Agreed says whether the user has agreed to what a project's file asks for.
func (a *Approvals) Agreed(r config.Request) bool {
	return a != nil && slices.Contains(a.list, pinRequest(r))
}

// Agree pins what a project's file asks for.
func (a *Approvals) Agree(r config.Request) error {
	p := pinRequest(r)
	return a.change(p, r.String(), func(list []approval) []approval { return append(list, p) })
}

// Disagree forgets what a project's file asked for.
func (a *Approvals) Disagree(r config.Request) error {
	if a == nil || !slices.ContainsFunc(a.list, pinRequest(r).sameEntry) {
		return fmt.Errorf("taking back the approval of %s in %q: %w", r, r.File, ErrNotApproved)
	}
	return a.change(pinRequest(r), r.String(), func(list []approval) []approval { return list })
}

// pinRequest is for the folder itself: code is shown whatever lies in it, so that another clone at its path is another.
func pinRequest(r config.Request) approval {
	sum := sha256.Sum256([]byte(r.String() + "\n" + createdAt(placeOf(r.Folder))))
	return approval{placeOf(r.Folder), r.File, "", hex.EncodeToString(sum[:])}
}

// placeOf is where a project's folder leads to.
func placeOf(project string) string {
	if place, err := filepath.EvalSymlinks(project); err == nil {
		return place
	}
	return project
}

// ErrNotApproved is the error of revoking an approval that was never given.
var ErrNotApproved = hint.New("it was not approved", "there are: codemode servers")

// Revoke forgets the entry, whatever it said when it was approved, and wherever the folder of its project led then.
func (a *Approvals) Revoke(e Entry) error {
	same := func(p approval) bool { return p.Server != "" && p.Server == e.Written && p.File == e.Server.Source }
	if a == nil || !slices.ContainsFunc(a.list, same) {
		return fmt.Errorf(
			"taking back the approval of server %q from %q: %w", e.Written, e.Server.Source, ErrNotApproved,
		)
	}
	return a.change(pin(e), ofServer(e), func(list []approval) []approval { return slices.DeleteFunc(list, same) })
}

// pin is what an approval is for: the project's real path (a folder that is replaced by a link needs another approval),
// the file, the server's name and a hash of the entry, which has the project's path as typed. The hash is empty where
// the content of its EnvFile is not known: such an entry cannot be approved.
func pin(e Entry) approval {
	hash := fingerprint(e.Server)
	switch {
	case e.Server.EnvFile == "":
	case e.Server.EnvHash == "":
		hash = ""
	default:
		hash += "+" + e.Server.EnvHash
	}
	return approval{placeOf(e.Server.Project), e.Server.Source, e.Written, hash}
}

// hashEnvFile hashes a project's file of variables, whose content decides what is started as much as the entry does:
// PATH, NODE_OPTIONS. It must be within the project, for its user can only agree to what came with that: else the hash
// is empty. It is read this once; the server's start compares what it reads with the hash.
func hashEnvFile(s config.Server) string {
	path := strings.ReplaceAll(s.EnvFile, "${workspaceFolder}", s.Project)
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Project, path)
	}
	name, err := filepath.Rel(s.Project, path)
	if err != nil || s.Project == "" || strings.ContainsAny(name, "$~") {
		return ""
	}
	root, err := os.OpenRoot(s.Project)
	if err != nil {
		return ""
	}
	defer root.Close()
	data, err := load(root, name, false)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(name):
		return "none"
	case err != nil:
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sameEntry says whether two are about one entry, whatever it says.
func (p approval) sameEntry(q approval) bool {
	return p.Project == q.Project && p.File == q.File && p.Server == q.Server
}

// change rewrites the file under a lock, without what it held of p before; what is p for people.
func (a *Approvals) change(p approval, what string, then func([]approval) []approval) error {
	wrap := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("keeping the approval of %s: %w", what, err)
	}
	if !utf8.ValidString(p.File + p.Project) {
		return wrap(fmt.Errorf("its path is not UTF-8, and could not be told from others: %q", p.File))
	}
	if err := os.MkdirAll(filepath.Dir(a.file), 0o700); err != nil {
		return wrap(err)
	}
	lock, err := filelock.Take(context.Background(), a.file+".lock")
	if err != nil {
		return fmt.Errorf("the approval of %s stays as it was: %w", what, err)
	}
	defer lock.Close()
	list, err := a.read()
	if err != nil {
		return wrap(err)
	}
	list = then(slices.DeleteFunc(list, p.sameEntry))
	slices.SortFunc(list, func(p, q approval) int {
		return cmp.Or(cmp.Compare(p.Project, q.Project), cmp.Compare(p.File, q.File), cmp.Compare(p.Server, q.Server))
	})
	if err := a.write(list); err != nil {
		return wrap(err)
	}
	a.list = list
	return nil
}

func (a *Approvals) read() ([]approval, error) {
	data, err := load(nil, a.file, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f approvalsFile
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && f.Version != approvalsVersion {
		err = fmt.Errorf("it is of version %d, and this codemode knows version %d", f.Version, approvalsVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("reading approvals %q: %w", a.file, fileerr.Cause(err))
	}
	return f.Approved, nil
}

// write replaces the file so that it is whole whenever the machine stops.
func (a *Approvals) write(list []approval) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	if err := enc.Encode(approvalsFile{approvalsVersion, list}); err != nil {
		return err
	}
	return atomicfile.WriteLocked(a.file, text.Bytes())
}
