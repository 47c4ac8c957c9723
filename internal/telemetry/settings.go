package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// settings are what the environment says.
type settings struct {
	traces, metrics []target
	problems        []string
}

// target is where one kind of telemetry goes.
type target struct {
	console bool
	url     string
	headers map[string]string
	timeout time.Duration
	gzip    bool
}

// variables reads OTEL_EXPORTER_OTLP_NAME, of which each kind may have its own, OTEL_EXPORTER_OTLP_KIND_NAME.
type variables struct {
	lookup func(string) (string, bool)
	kind   string
}

func (v variables) get(name string) string {
	value, _ := v.lookup(name)
	return strings.TrimSpace(value) // set and empty is not set, says the specification
}

func (v variables) own(name string) string { return v.get("OTEL_EXPORTER_OTLP_" + v.kind + "_" + name) }

func (v variables) otlp(name string) string {
	if own := v.own(name); own != "" {
		return own
	}
	return v.get("OTEL_EXPORTER_OTLP_" + name)
}

func readSettings(lookup func(string) (string, bool)) (s settings) {
	if disabled, _ := lookup("OTEL_SDK_DISABLED"); strings.EqualFold(strings.TrimSpace(disabled), "true") {
		return s
	}
	s.traces = s.targets(variables{lookup, "TRACES"})
	s.metrics = s.targets(variables{lookup, "METRICS"})
	return s
}

// targets are where one kind goes.
func (s *settings) targets(v variables) (list []target) {
	wanted := v.get("OTEL_" + v.kind + "_EXPORTER")
	if wanted == "" && v.otlp("ENDPOINT") != "" {
		wanted = "otlp"
	}
	for name := range strings.SplitSeq(wanted, ",") {
		switch name = strings.TrimSpace(name); name {
		case "", "none":
		case "console":
			list = append(list, target{console: true})
		case "otlp":
			t, err := v.collector()
			if err != nil {
				s.problem(err.Error())
				continue
			}
			list = append(list, t)
		default:
			s.problem(
				fmt.Sprintf(
					"OTEL_%s_EXPORTER is %.40q; it must be otlp, console or none, so nothing is exported by it", v.kind,
					name,
				),
			)
		}
	}
	return list
}

// problem notes what is told, once where both kinds have it.
func (s *settings) problem(text string) {
	for _, p := range s.problems {
		if p == text {
			return
		}
	}
	s.problems = append(s.problems, text)
}

// collector is the target of the exporter "otlp".
func (v variables) collector() (t target, err error) {
	switch protocol := v.otlp("PROTOCOL"); protocol {
	case "", "http/json", "http/protobuf": // nearly all that take OTLP over HTTP take JSON, at the same address
	default:
		return t, fmt.Errorf(
			"OTEL_EXPORTER_OTLP_PROTOCOL is %.40q; codemode speaks OTLP over HTTP alone (http/json), so nothing is exported",
			protocol,
		)
	}
	if t.url, err = v.address(); err != nil {
		return t, err
	}
	t.timeout = 10 * time.Second // the specification's
	if text := v.otlp("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 0 {
			return t, fmt.Errorf(
				"OTEL_EXPORTER_OTLP_TIMEOUT is %.40q; it must be a number of milliseconds, so nothing is exported",
				text,
			)
		}
		t.timeout = time.Duration(ms) * time.Millisecond
	}
	t.gzip = v.otlp("COMPRESSION") == "gzip"
	t.headers = map[string]string{}
	for pair := range strings.SplitSeq(v.otlp("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			t.headers[strings.TrimSpace(name)] = value
		}
	}
	if !sendable(t.headers) { // the error of sending one would quote it
		return t, errors.New("OTEL_EXPORTER_OTLP_HEADERS has what no header can have, so nothing is exported: " +
			"it is NAME=VALUE, with commas between")
	}
	return t, nil
}

// sendable says whether these can be headers of a request.
func sendable(headers map[string]string) bool {
	for name, value := range headers {
		odd := func(r rune) bool {
			return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
		}
		if name == "" || strings.ContainsFunc(name, odd) || strings.ContainsAny(value, "\r\n\x00") {
			return false
		}
	}
	return true
}

// address is a kind's own endpoint as it is, or its path below the common one.
func (v variables) address() (string, error) {
	name := "OTEL_EXPORTER_OTLP_" + v.kind + "_ENDPOINT"
	address := v.get(name)
	if address == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		address = v.get(name)
		if address == "" {
			address = "http://localhost:4318"
		}
		address = strings.TrimRight(address, "/") + "/v1/" + strings.ToLower(v.kind)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s is no http:// or https:// address, so nothing is exported", name)
	}
	return address, nil
}
