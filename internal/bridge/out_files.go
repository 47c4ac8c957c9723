package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"codemode/internal/artifact"
	"codemode/internal/fileerr"
	"codemode/internal/guest"
	"codemode/internal/picture"
	"codemode/internal/sandbox"
	"codemode/internal/visible"
)

const (
	// outTimeout bounds the saving of what code has left: an engine may be far away, and a guest in the way.
	outTimeout = 2 * time.Minute
	// outGrace bounds it when nobody waits for the run any more.
	outGrace = 10 * time.Second
	// maxOutFiles is how many files of one run become artifacts; of an archive there is one.
	maxOutFiles = 100
	// maxOutImages is how many images a run may have for one more to be shown that it has left.
	maxOutImages = 8
	// maxKnown is how many things a session may leave, whatever they are.
	maxKnown = 10_000
)

var (
	errManyFiles = fmt.Errorf("a run may leave %d files; an archive of them (tarfile, zipfile) is one", maxOutFiles)
	errMuchLeft  = errors.New("what one run leaves may have disk.max_size together")
	errDisk      = errors.New("all that is kept has disk.max_size")
	errManyKnown = fmt.Errorf("a session may leave %d, and no more are looked at", maxKnown)
)

// savesOutFiles tells whether files that runs leave in sandbox.OutDir are saved, which is not so where a folder of the
// user's is mounted under that name.
func (b *Bridge) savesOutFiles(req Request) bool {
	taken := slices.ContainsFunc(req.mounts, func(m sandbox.Mount) bool { return m.Name == path.Base(sandbox.OutDir) })
	return req.OutFiles != nil || b.opts.KeepOutFiles && b.opts.Artifacts != nil && !taken
}

// saveOutFiles saves what a run has left, for the request or as artifacts, as far as it is new. It goes on
// for a while when the run has been cancelled.
func (l *live) saveOutFiles(ran context.Context, out *Outcome, r *run) {
	if !l.leaves || !l.news && !out.Lost {
		return
	}
	l.news = false
	ctx, cancel := context.WithTimeout(l.bridge.closing, outTimeout)
	defer cancel()
	defer context.AfterFunc(ran, func() { time.AfterFunc(outGrace, cancel) })()
	room := cmp.Or(l.bridge.opts.Config.Disk.MaxSize, math.MaxInt64)
	k := &artifactSaver{ctx: ctx, store: l.bridge.opts.Artifacts, room: room}
	save := r.req.OutFiles
	if save == nil {
		k.saving = k.store.Save(r.id)
		save = k.save
	}
	err := l.box.OutFiles(ctx, l.known, func(f sandbox.OutFile) error {
		if _, told := l.known[f.Name]; told && f.Err != nil {
			return nil
		}
		if len(l.known) >= maxKnown {
			return errManyKnown
		}
		err := l.paced(ctx, func() error { return save(f) })
		if err == nil {
			l.known[f.Name] = f.Stamp
		}
		return err
	})
	if k.saving != nil {
		k.saving.Close()
	}
	k.forget()
	out.Artifacts = k.kept
	l.show(out, k.kept)
	out.Done = append(out.Done, k.done()...)
	out.Notes = append(append(out.Notes, k.done()...), k.notes()...)
	if err != nil && (!out.Lost || r.req.OutFiles != nil) { // of what a lost container had, nobody knows
		out.Notes = append(out.Notes, fmt.Sprintf("not all of %s was saved: %v", sandbox.OutDir, err))
	}
}

// artifactSaver makes artifacts of what one run has left.
type artifactSaver struct {
	ctx     context.Context
	store   *artifact.Store
	saving  *artifact.Saving
	room    int64 // for all that the run leaves
	kept    []artifact.Artifact
	refused []string // those that are told
	more    int      // refusals
}

func (k *artifactSaver) save(f sandbox.OutFile) error {
	if len(k.kept) >= maxOutFiles {
		return errManyFiles
	}
	a, err := artifact.Artifact{}, f.Err
	// A sparse file costs code nothing, and is written as it reads: together they have what a tenant has.
	switch {
	case err != nil:
	case f.Size > k.room && len(k.kept) > 0:
		err = errMuchLeft
	default:
		if a, err = k.saving.Put(k.ctx, f.Name, f.Size, f.Content); err == nil {
			k.room -= f.Size
		}
	}
	if err != nil {
		k.refuse("%q was not kept: %v", path.Join(sandbox.OutDir, f.Name), fileerr.Cause(err))
		return nil
	}
	k.kept = append(k.kept, a)
	return nil
}

// refuse notes that a file is not kept; format has its name and why.
func (k *artifactSaver) refuse(format, name string, why error) {
	if len(k.refused) == maxRefused {
		k.more++
		return
	}
	k.refused = append(k.refused, fmt.Sprintf(format, visible.Line(visible.Clip(name, maxNote/2)), why))
}

// forget tells of what is gone by now, and names it as kept no more.
func (k *artifactSaver) forget() {
	var there []artifact.Artifact
	for _, a := range k.kept {
		if _, err := k.store.Get(a.ID); err == nil {
			there = append(there, a)
			continue
		}
		k.refuse("%q was removed again to make room: %v", a.Name, errDisk)
	}
	k.kept = there
}

// Artifacts are the tenant's; nil where none are kept.
func (b *Bridge) Artifacts() *artifact.Store { return b.opts.Artifacts }

// maxSmall is how large a picture may be that is shown because it was left.
const maxSmall = 512 << 10

// show adds the small pictures among what was kept to those of the outcome, as display would.
func (l *live) show(out *Outcome, kept []artifact.Artifact) {
	size := 0
	for _, img := range out.Images {
		size += len(img.Data)
	}
	for _, a := range kept {
		bitmap := strings.HasPrefix(a.Type, "image/") && a.Type != "image/svg+xml"
		if !bitmap || a.Size > maxSmall || len(out.Images) >= maxOutImages {
			continue
		}
		p, err := l.pictureOf(a)
		same := func(img Image) bool { return bytes.Equal(img.Data, p.Data) }
		if err != nil || size+len(p.Data) > maxImageBytes || slices.ContainsFunc(out.Images, same) {
			continue // it is kept, whatever it is
		}
		size += len(p.Data)
		out.Images = append(out.Images, Image{MIME: p.MIME, Data: p.Data})
	}
}

func (l *live) pictureOf(a artifact.Artifact) (p picture.Picture, err error) {
	f, _, err := l.bridge.opts.Artifacts.Open(a.ID)
	if err != nil {
		return p, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSmall))
	if err = errors.Join(err, f.Close()); err != nil {
		return p, err
	}
	p, _, err = l.bridge.pictures.clean(l.bridge.closing, l.session, a.Type, data)
	return p, err
}

const (
	maxNamed   = 10 // artifacts of a run
	maxRefused = 5  // refusals that are told in full
)

// done says what was kept, and how code has it again.
func (k *artifactSaver) done() (notes []string) {
	n := min(len(k.kept), maxNamed)
	for _, a := range k.kept[:n] {
		name := visible.Line(visible.Clip(a.Name, maxNote/2))
		notes = append(notes, fmt.Sprintf(
			"kept %q (%s, %d bytes) as %s: any later run has it by `artifacts.open(%q)`", name, a.Type, a.Size, a.URI(), a.ID,
		))
	}
	if more := len(k.kept) - n; more > 0 {
		notes = append(notes, fmt.Sprintf("kept %d files more: `artifacts.list()` names them", more))
	}
	return notes
}

func (k *artifactSaver) notes() []string {
	if k.more > 0 {
		return append(k.refused, fmt.Sprintf("%d more of what is in %s were not kept", k.more, sandbox.OutDir))
	}
	return k.refused
}

// artifactPiece is how much of an artifact one answer has.
const artifactPiece = 1 << 20

// artifacts answers with the tenant's artifacts, or with a piece of one.
func (l *live) artifacts(ctx context.Context, t *task, m guest.Message) (json.RawMessage, *refusal) {
	var q guest.ArtifactQuery
	if err := json.Unmarshal(m.Params, &q); err != nil {
		return nil, refuse(-32602, "artifacts: "+err.Error(), guest.ErrorData{})
	}
	store := l.bridge.opts.Artifacts
	if store == nil {
		return nil, refuse(-32602, "artifacts: none are kept here", guest.ErrorData{})
	}
	if q.ID == "" {
		return l.respondOwn(ctx, t, func() any { return guest.Artifacts{Artifacts: described(store.List())} })
	}
	if err := t.describe(ctx); err != nil { // first, for what has been read is held until its answer is written
		return nil, cancelled(err)
	}
	piece, err := readPiece(store, q)
	if q.ForTool && err == nil {
		piece.Base64 = nil
		piece.Reference, err = l.reference(artifact.Artifact{ID: piece.Artifacts[0].ID})
	}
	if err != nil {
		message := fmt.Sprintf("artifact %q: %v", visible.Clip(q.ID, maxAskedName), fileerr.Cause(err))
		return nil, refuse(-32602, message, guest.ErrorData{Hint: "artifacts.list() has those there are"})
	}
	return l.respondOwn(ctx, t, func() any { return piece })
}

func described(list []artifact.Artifact) []guest.Artifact {
	all := make([]guest.Artifact, len(list))
	for i, a := range list {
		all[i] = guest.Artifact{
			ID: a.ID, Name: a.Name, Type: a.Type, Size: a.Size, SHA256: a.SHA256, Run: a.Run,
			Made: a.Made.Format(time.RFC3339),
		}
	}
	return all
}

func readPiece(store *artifact.Store, q guest.ArtifactQuery) (piece guest.Artifacts, err error) {
	f, a, err := store.Open(q.ID)
	if err != nil {
		return piece, err
	}
	defer f.Close()
	if q.Offset < 0 || q.Offset > a.Size {
		return piece, errors.New("it is not so long")
	}
	buf := make([]byte, min(artifactPiece, a.Size-q.Offset))
	if _, err := f.ReadAt(buf, q.Offset); err != nil && !errors.Is(err, io.EOF) {
		return piece, err
	}
	return guest.Artifacts{Artifacts: described([]artifact.Artifact{a}), Base64: buf}, nil
}
