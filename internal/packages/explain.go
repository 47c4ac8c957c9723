package packages

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"codemode/internal/hint"
	"codemode/internal/lazyregexp"
	"codemode/internal/sandbox/python"
)

// explain makes an error of what pip said, shortened: the reason, and what of an index would help.
func (r *resolution) explain(ctx context.Context, said []string, failed *programError) error {
	if m := unaskedText().FindStringSubmatch(failed.stderr); m != nil {
		return r.store.unasked(ctx, r.wish, m[1], m[2])
	}
	reasons := reasons(said, failed.stderr)
	if len(reasons) == 0 {
		return fmt.Errorf("pip failed, and nothing was added: %w", failed)
	}
	if len(reasons) == 1 && reasons[0] == "Exception:" { // a traceback, whose last line says what it was
		reasons[0] = "pip failed: " + strings.TrimPrefix(python.LastLine(failed.stderr), ": ")
		if file := fetching(said); file != "" && strings.Contains(reasons[0], "urllib3.exceptions.") {
			reasons[0] = r.wish.Source() + " broke off in the middle of " + file + ", which tells what it needs"
		}
	}
	text := requirementLine().ReplaceAllStringFunc(strings.Join(reasons, "; "), func(place string) string {
		n, err := strconv.Atoi(requirementLine().FindStringSubmatch(place)[1])
		if err != nil || n < 1 || n > len(r.lines) {
			return place
		}
		return r.lines[n-1]
	})
	for _, c := range r.constraints { // a wheel that was made here, whose address is nobody's affair
		if name, address, made := strings.Cut(c, " @ "); made {
			text = strings.ReplaceAll(text, name+" (from "+address+")", r.shown(c))
		}
	}
	err := hint.New(text+"; nothing was added", r.advice(text)...)
	if about := r.store.lacking(ctx, r.wish, text, r.py, r.cutoff); about != nil {
		return about
	}
	return err
}

// fetching is the file that pip began to fetch last.
func fetching(said []string) string {
	for _, line := range slices.Backward(said) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "Downloading "); ok {
			address, _, _ := strings.Cut(rest, " ")
			return path.Base(address)
		}
	}
	return ""
}

// requirementLine is how pip names what it was asked for: by a file that nobody else has seen.
var requirementLine = lazyregexp.New(`-r \S+requirements\.txt \(line (\d+)\)`)

// maxReasons is how many lines of a reason are told.
const maxReasons = 8

// reasons are pip's own, without what it says for its other users.
func reasons(said []string, stderr string) (list []string) {
	conflict := false
	for _, line := range said {
		switch {
		case strings.HasPrefix(line, "The conflict is caused by:"):
			conflict = true
		case conflict && strings.HasPrefix(line, "    "):
			line = strings.TrimSpace(line)
			if fixed, ok := strings.CutPrefix(line, "The user requested (constraint) "); ok {
				line = fixed + stays
			} else if asked, ok := strings.CutPrefix(line, "The user requested "); ok {
				line = asked + " was asked for"
			}
			list = append(list, line)
		case conflict && line == "":
			conflict = false
		}
	}
	var errs []string
	for line := range strings.Lines(stderr) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "ERROR: "); ok &&
			!strings.HasPrefix(text, "ResolutionImpossible") && !strings.HasPrefix(text, "No matching distribution") {
			errs = append(errs, strings.TrimSuffix(text, "."))
		}
	}
	list = append(errs, list...)
	return list[:min(len(list), maxReasons)]
}

// stays is what is told of a version that is there.
const stays = " is there, and stays"

// advice is what to do about a reason.
func (r *resolution) advice(text string) []string {
	switch {
	case strings.Contains(text, "does not provide upload-time"):
		return []string{
			"packages.cooldown needs to know when a version appeared; to do without: CODEMODE_PACKAGES_COOLDOWN=0",
		}
	case r.had != nil && strings.Contains(text, stays):
		return []string{r.freeing(text)}
	}
	return nil
}

// shown is a constraint as its user knows it.
func (r *resolution) shown(constraint string) string {
	name, _, made := strings.Cut(constraint, " @ ")
	if !made || r.had == nil {
		return name
	}
	p, there := r.had.Find(name)
	if !there {
		return name
	}
	return name + "==" + p.Version
}

// freeing is a command that lets what is in the way change, too: what is named may.
func (r *resolution) freeing(text string) string {
	var names []string
	for _, c := range r.constraints {
		if c = r.shown(c); Named(c) != "" && strings.Contains(text, c+stays) {
			names = append(names, Named(c))
		}
	}
	words := []string{"codemode", "packages", "add"}
	for _, line := range r.wish.Requirements {
		if !slices.ContainsFunc(r.had.Asked().Requirements, func(had string) bool { return had == line }) {
			words = append(words, line)
		}
	}
	if len(words) == 3 { // nothing is new
		words = append([]string{"codemode", "packages", "update"}, r.change...)
	}
	return "to let " + strings.Join(names, " and ") + " change with it: " + hint.Words(append(words, names...))
}
