// Package registry is the client of an MCP registry: it asks one which servers there are, and makes of what a publisher
// says of a server the entry that would start or reach it. It never starts or stores anything, and believes nothing: an
// answer is a stranger's, read within bounds of time, bytes and pages, and what is odd in an entry refuses it. Each
// answer is closed where it is read; nothing else needs closing.
package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is read. The official registry gives pages of at most 100 servers, of about 1 KiB each.
const (
	maxAnswer = 8 << 20
	maxPages  = 10
	pageSize  = 100
	maxWait   = 30 * time.Second // for all pages of one question
)

// api is the version of the registry's interface that only changes in compatible ways:
// github.com/modelcontextprotocol/registry, docs/guides/consuming/use-rest-api.md, read 2026-11-22.
const api = "/v0.1/servers"

// Client asks one registry.
type Client struct {
	Address string        // http or https, without the version of the interface
	Agent   string        // who asks
	Wait    time.Duration // for an answer, all pages of it; 0 is maxWait
}

// Find asks for the latest versions of servers that have all words, at most so many; more says whether there are more.
// The registry looks for one text, which is the longest word; the others are looked for in what it answers.
func (c *Client) Find(ctx context.Context, words []string, limit int) (found []Server, more bool, err error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	query := url.Values{"search": {longest(words)}, "version": {"latest"}, "limit": {strconv.Itoa(pageSize)}}
	seen := map[string]bool{}
	for range maxPages {
		var page struct {
			Servers  []json.RawMessage `json:"servers"`
			Metadata struct {
				Next string `json:"nextCursor"`
			} `json:"metadata"`
		}
		if err := c.get(ctx, api+"?"+query.Encode(), &page); err != nil {
			return nil, false, err
		}
		for _, data := range page.Servers {
			s, err := parse(data)
			if err != nil || seen[s.Name] || s.old || s.Status == Deleted || !s.has(words) {
				continue // one that cannot be read hides no other
			}
			if len(found) == limit {
				return found, true, nil
			}
			seen[s.Name] = true
			found = append(found, s)
		}
		if page.Metadata.Next == "" || page.Metadata.Next == query.Get("cursor") {
			return found, false, nil
		}
		query.Set("cursor", page.Metadata.Next)
	}
	return found, true, nil
}

func longest(words []string) (text string) {
	for _, w := range words {
		if len(w) > len(text) {
			text = w
		}
	}
	return text
}

// Latest asks for the latest version of one server.
func (c *Client) Latest(ctx context.Context, name string) (Server, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	var data json.RawMessage
	err := c.get(ctx, api+"/"+url.PathEscape(name)+"/versions/latest", &data)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.json {
		return Server{}, &UnknownError{Name: name, Address: refused.Address}
	}
	if err != nil {
		return Server{}, err
	}
	s, err := parse(data)
	switch {
	case err != nil:
		return Server{}, &EntryError{Name: name, What: "cannot be read: " + err.Error()}
	case s.Name != name:
		return Server{}, &EntryError{Name: name, What: fmt.Sprintf("is called %q in the registry's answer", s.Name)}
	}
	return s, nil
}

var errTimeout = errors.New("late")

func (c *Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, cmp.Or(c.Wait, maxWait), errTimeout)
}

// httpClient follows a redirect only within the registry: who is named in a setting is who is asked.
var httpClient = &http.Client{CheckRedirect: func(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 4 || req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		return fmt.Errorf("it leads on to %q, which is not followed", req.URL.Redacted())
	}
	return nil
}}

// get reads one answer.
func (c *Client) get(ctx context.Context, path string, into any) error {
	address := strings.TrimRight(c.Address, "/")
	fail := &Error{Address: "registry.address"}
	if u, err := url.Parse(address); err == nil {
		fail.Address = u.Redacted()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
	if err != nil {
		return fail.because("it is no address of a registry")
	}
	req.Header.Set("User-Agent", c.Agent)
	req.Header.Set("Accept", "application/json")
	resp, err := httpClient.Do(req)
	if err != nil {
		return fail.because("it cannot be reached: " + c.reason(ctx, err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fail.because("its answer broke off: " + c.reason(ctx, err))
	case len(data) > maxAnswer:
		return fail.because(fmt.Sprintf("its answer is larger than %d MiB", maxAnswer>>20))
	case resp.StatusCode != http.StatusOK:
		return fail.status(resp, data)
	case json.Unmarshal(data, into) != nil:
		return fail.because("its answer is not that of a registry: " + described(resp, data))
	}
	return nil
}

// reason is what went wrong with a connection, without the address, which may have a password in it.
func (c *Client) reason(ctx context.Context, err error) string {
	var e *url.Error
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Sprintf("no answer within %v", cmp.Or(c.Wait, maxWait))
	case errors.As(err, &e):
		return e.Err.Error()
	}
	return err.Error()
}
