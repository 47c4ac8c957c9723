package install

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"codemode/internal/clientcfg"
	"codemode/internal/hint"
)

// agreed is an error where the last of some servers may not move: by what is held now, or as its user says, who is
// asked. What they may have said elsewhere meanwhile, by taking an approval back or by a rule, holds as well.
func (i *Installer) agreed(all adoption, moved []Moved) error {
	change, err := all.change(moved)
	if err != nil {
		return err
	}
	e := all.moves[len(all.moves)-1].Entry
	reason := i.loosens(change)
	switch {
	case reason != "" || i.Adopt.Choose == nil:
	case !i.Adopt.Choose(e):
		reason = "you have chosen that"
	default:
		reason = cmp.Or(i.unapproved(all.req, all.t, e), i.loosens(change))
	}
	if reason != "" {
		return errors.New(reason)
	}
	return nil
}

// change is what would be once some servers have moved.
func (all adoption) change(moved []Moved) (c Change, err error) {
	then, key := *all.doc, append(slices.Clone(all.table), all.req.Name)
	if err := then.removeMoved(moved, key); err != nil {
		return c, err
	}
	if all.entry != nil { // by which codemode is started then; and a file without it might be blank, and so in doubt
		set, err := all.entry(moved)
		if err == nil {
			err = then.apply(then.Set(key, set))
		}
		if err != nil {
			return c, err
		}
	}
	c = Change{map[string][]byte{all.t.Path: then.data}, all.moves}
	for _, n := range all.files {
		c.Files[n.path] = n.text
	}
	return c, nil
}

func (i *Installer) loosens(c Change) string {
	if i.Adopt.Loosens == nil {
		return ""
	}
	return i.Adopt.Loosens(c)
}

// forbidden is an error where what was agreed to may be no more: by a rule or the end of an approval since.
func (i *Installer) forbidden(all adoption, moved []Moved) error {
	if len(all.moves) == 0 {
		return nil
	}
	change, err := all.change(moved)
	if err != nil {
		return err
	}
	reason := i.loosens(change)
	for _, m := range all.moves {
		reason = cmp.Or(reason, i.unapproved(all.req, all.t, m.Entry))
	}
	if reason != "" {
		return fmt.Errorf("what holds for its servers has changed meanwhile, so none was moved: %s", reason)
	}
	return nil
}

// unapproved says why an entry of a project is not to move; empty is that it may.
func (i *Installer) unapproved(req Request, t Target, e clientcfg.Entry) string {
	approved := e.Scope != clientcfg.Project || i.Adopt.Approved != nil && i.Adopt.Approved(e)
	switch {
	case i.Adopt.Choose == nil && t.Scope == clientcfg.Project && req.Scope == clientcfg.User:
		return "it came with the project; codemode install " + t.Client.ID +
			" --scope project --adopt moves it for everybody who works there"
	case !approved: // moved, it would need no approval any more
		return "it came with the project; look at it and approve it first: codemode servers approve " +
			hint.Word(e.Written)
	}
	return ""
}
