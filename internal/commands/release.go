package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"codemode/internal/clientcfg"
	"codemode/internal/hint"
	"codemode/internal/visible"

	"golang.org/x/mod/semver"
)

// maxReleaseWait bounds the question for the newest release: nobody waits for that.
const maxReleaseWait = 5 * time.Second

// release is the newest one.
type release struct {
	Version string `json:"version"`
	Page    string `json:"page,omitempty"`
	Newer   bool   `json:"newer"` // than the one that runs
}

// String is for people.
func (r *release) String() string {
	if r == nil {
		return ""
	}
	if r.Newer {
		return strings.TrimSpace(r.Version + ", newer than this " + r.Page)
	}
	return r.Version + ", no newer than this"
}

// newestRelease asks address, within bound, for the newest release, and compares it with the version that runs.
func newestRelease(ctx context.Context, address, running string, bound time.Duration) (*release, error) {
	failed := func(err error) (*release, error) {
		return nil, hint.New(fmt.Sprintf("the newest release is not known: %s: %v", quote(redacted(address)), err),
			"nothing else needs that address; for another one set release.address in config.toml")
	}
	late := fmt.Errorf("no answer within %v", bound)
	ctx, cancel := context.WithTimeoutCause(ctx, bound, late)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return failed(withoutURL(err))
	}
	req.Header.Set("User-Agent", "codemode/"+running) // GitHub refuses requests without one
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	switch {
	case errors.Is(context.Cause(ctx), late):
		return failed(late)
	case err != nil:
		return failed(fmt.Errorf("it cannot be reached: %w", withoutURL(err)))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return failed(fmt.Errorf("it answered %q", resp.Status))
	}
	var answer struct { // GitHub's REST API, "Get the latest release": docs.github.com/rest/releases, read 2026-11-22
		Tag  string `json:"tag_name"`
		Page string `json:"html_url"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer)
	switch {
	case errors.Is(context.Cause(ctx), late):
		return failed(late)
	case err != nil || !semver.IsValid(canonical(answer.Tag)):
		return failed(errors.New("its answer names no version"))
	}
	newest := canonical(answer.Tag)
	return &release{newest[1:], visible.Text(answer.Page), semver.Compare(newest, canonical(running)) > 0}, nil
}

// canonical is a version as package semver has them.
func canonical(version string) string { return "v" + strings.TrimPrefix(version, "v") }

// redacted is an address without its secrets.
func redacted(address string) string {
	if _, err := url.Parse(address); err != nil {
		return "an address that cannot be read"
	}
	return clientcfg.MaskText(address)
}

// withoutURL is the reason of an error that names the address, which may have a password in it.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
