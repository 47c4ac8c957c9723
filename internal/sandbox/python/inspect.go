package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codemode/internal/atomicfile"
	"codemode/internal/cachedir"
	"codemode/internal/plainfile"
)

// inspectScript has an interpreter describe itself. It must run on every Python 3 that knows -I, so that
// one that is too old can be named. Of a virtual environment only the site directories matter: guests
// run the interpreter below it. Without site, whose lines of .pth files would be executed, it is told here
// which environment it belongs to, as site.venv would find it (3.9 to 3.14). getsitepackages knows
// Debian's dist-packages.
const inspectScript = `
import json, os, site, sys
folder = os.path.dirname(sys.argv[1])
prefixes = [sys.base_prefix, sys.base_exec_prefix]
for place in folder, os.path.dirname(folder):
    try:
        lines = open(os.path.join(place, "pyvenv.cfg"), encoding="utf-8").read().splitlines()
    except OSError:
        continue
    said = {n.strip().lower(): v.strip().lower() for n, _, v in (line.partition("=") for line in lines)}
    sys.prefix = sys.exec_prefix = os.path.dirname(folder)
    prefixes = [sys.prefix] + (prefixes if said.get("include-system-site-packages", "true") == "true" else [])
    break
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "new_enough": sys.version_info >= (3, 9),
    "implementation": sys.implementation.name,
    "tag": sys.implementation.cache_tag,
    "executable": getattr(sys, "_base_executable", sys.executable),
    "prefixes": [sys.base_prefix, sys.base_exec_prefix],
    "stdlib": os.path.dirname(os.__file__),
    "site_packages": site.getsitepackages(prefixes),
}))
`

// inspectTimeout is ample for an interpreter on a cold disk.
const inspectTimeout = 20 * time.Second

// inspection is what inspectScript prints.
type inspection struct {
	Version        string   `json:"version"`
	NewEnough      bool     `json:"new_enough"`
	Implementation string   `json:"implementation"`
	Tag            string   `json:"tag"`
	Executable     string   `json:"executable"`
	Prefixes       []string `json:"prefixes"`
	Stdlib         string   `json:"stdlib"`
	SitePackages   []string `json:"site_packages"`
}

const maxInspected = 1 << 20 // bytes of a file in the cache

// cachedInspection is an inspection in the cache, and what it was made of.
type cachedInspection struct {
	Of    string     `json:"of"`
	About inspection `json:"about"`
}

// inspect returns what exe says about itself, from the cache if it is still the same program.
func (s Source) inspect(ctx context.Context, exe string) (inspection, error) {
	of, err := fingerprint(exe)
	if err != nil {
		return inspection{}, err
	}
	name := sha256.Sum256([]byte(exe))
	root := filepath.Join(s.CacheDir, "python")
	dir := filepath.Join(root, "interpreters")
	if err := cachedir.Trust(s.CacheDir, root, dir); err != nil {
		return inspection{}, err
	}
	file := filepath.Join(dir, hex.EncodeToString(name[:8])+".json")
	var cached cachedInspection
	data, err := plainfile.Read(file, maxInspected)
	if err == nil && json.Unmarshal(data, &cached) == nil && cached.Of == of {
		return cached.About, nil
	}
	about, err := runInspection(ctx, program{exe, s.Confine})
	if err != nil {
		return inspection{}, err
	}
	if data, err := json.Marshal(cachedInspection{of, about}); err == nil {
		replaceFile(file, data) // without a cache the next start only takes longer
	}
	return about, nil
}

// runInspection asks an interpreter what it is, and refuses one that guests cannot use.
func runInspection(ctx context.Context, exe program) (inspection, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, inspectTimeout,
		fmt.Errorf("%q said nothing about itself for %v", exe.exe, inspectTimeout))
	defer cancel()
	said, err := exe.answer(ctx, inspectScript, []string{exe.exe})
	if err != nil {
		return inspection{}, err
	}
	var about inspection
	if err := json.Unmarshal(said, &about); err != nil {
		return inspection{}, fmt.Errorf("%q does not answer as a python does: %w", exe.exe, err)
	}
	switch {
	case about.Implementation != "cpython":
		return inspection{}, fmt.Errorf("%q is %s; guests need CPython", exe.exe, about.Implementation)
	case !about.NewEnough:
		return inspection{}, fmt.Errorf("%q is Python %s; guests need 3.9 or newer", exe.exe, about.Version)
	}
	return about, nil
}

// fingerprint changes when exe, or the virtual environment it belongs to, is replaced, and when this
// package asks other questions.
func fingerprint(exe string) (string, error) {
	parts := []string{inspectScript}
	for _, path := range []string{exe, filepath.Join(filepath.Dir(filepath.Dir(exe)), "pyvenv.cfg")} {
		info, err := os.Stat(path)
		if err != nil {
			if path == exe {
				return "", err
			}
			continue // not a virtual environment
		}
		parts = append(parts, realPath(path), fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

// identity is Interpreter.id: by its own path, since what is beside a link to another's program is its own.
func identity(exe string) (string, error) {
	of, err := fingerprint(exe)
	sum := sha256.Sum256([]byte(exe + "\n" + of))
	return hex.EncodeToString(sum[:8]), err
}

// replaceFile writes data to path at once or not at all.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, tempPrefix, data)
}
