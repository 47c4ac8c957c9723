package packages

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"codemode/internal/sandbox"
)

// askHas compares versions, extras and markers by the code that pip does it with.
//
//go:embed has.py
var askHas string

// Has tells whether code can import already what is required: of a lock whose layer is there, and of what another
// interpreter has of its own.
func (s *Store) Has(ctx context.Context, l *Lock, requirements []string) (bool, error) {
	py, err := s.Source.Prepare(ctx)
	if err != nil {
		return false, err
	}
	var folders []string
	if layer, there := s.Layer(l, py.Tag); there {
		if l.Satisfies(requirements) {
			return true, nil
		}
		folders = append(folders, layer.Host)
	}
	for _, site := range py.SitePackages {
		folders = append(folders, py.HostPath(site))
	}
	if len(folders) == 0 || py.Embedded && l.lacks(requirements) {
		return false, nil
	}
	return s.askHas(ctx, folders, requirements)
}

// lacks tells whether a lock has not what is required, for certain.
func (l *Lock) lacks(requirements []string) bool {
	for _, r := range requirements {
		if yes, known := l.answers(r); known && !yes {
			return true
		}
	}
	return false
}

func (s *Store) askHas(ctx context.Context, folders, requirements []string) (bool, error) {
	py, err := s.Source.Prepare(ctx)
	if err != nil {
		return false, err
	}
	lib, err := s.Source.Pip(ctx, py)
	if err != nil {
		return false, err
	}
	asked, err := json.Marshal(requirements)
	if err != nil {
		return false, err
	}
	may := sandbox.Restrictions{Read: append([]string{lib}, folders...)}
	answer := ""
	args := append([]string{askHas, lib, string(asked)}, folders...)
	err = s.run(ctx, py, may, args, func(line string) { answer = line })
	var failed *programError
	switch {
	case errors.As(err, &failed):
		return false, nil // a Python that is too old for it, or packages that are none: their user is asked
	case err != nil:
		return false, fmt.Errorf("asking which packages are there: %w", err)
	}
	return answer == "yes", nil
}
