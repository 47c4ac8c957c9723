// Command npm makes the packages for npm of a built codemode: one with the binaries of a platform, and the one that
// people install, which has a launcher and asks for all the others where they fit (optionalDependencies, os, cpu).
// No package has an install script. It publishes nothing. It is called for each binary, once it is built.
//
//	npm DIR VERSION OS/ARCH BINARY
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
)

//go:embed launcher.js
var launcher []byte

//go:embed README.md
var readme []byte

// platforms are what codemode is built for, as Go and as Node.js call it (process.platform, process.arch).
var platforms = []struct{ goos, node, cpu string }{
	{"linux/amd64", "linux", "x64"},
	{"linux/arm64", "linux", "arm64"},
	{"darwin/amd64", "darwin", "x64"},
	{"darwin/arm64", "darwin", "arm64"},
	{"windows/amd64", "win32", "x64"},
}

// manifest is a package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	Files        []string          `json:"files"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"` // Yarn would leave the binary in an archive
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: npm DIR VERSION OS/ARCH BINARY")
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		log.Fatal("npm: ", err)
	}
}

// pack writes the package of a platform, and the one that people install.
func pack(dir, version, goos, binary string) error {
	i := slices.IndexFunc(platforms, func(p struct{ goos, node, cpu string }) bool { return p.goos == goos })
	if i < 0 {
		return fmt.Errorf("there is no package for %q", goos)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	m := manifest{
		Name: "codemode", Version: version, License: "Apache-2.0",
		Description: "Run Python in a sandbox, with your MCP servers as its functions",
		Bin:         map[string]string{"codemode": "launcher.js"},
		Engines:     map[string]string{"node": ">=18"},
		Files:       []string{"launcher.js"},
		Optional:    map[string]string{},
	}
	for _, p := range platforms {
		m.Optional["codemode-"+p.node+"-"+p.cpu] = version
	}
	if err := write(filepath.Join(dir, m.Name), m, "launcher.js", launcher); err != nil {
		return err
	}
	p, files := platforms[i], []string{"codemode"}
	switch p.node {
	case "linux":
		files = append(files, "codemode-sandbox")
	case "win32":
		files = []string{"codemode.exe"}
	}
	return write(filepath.Join(dir, "codemode-"+p.node+"-"+p.cpu), manifest{
		Name: "codemode-" + p.node + "-" + p.cpu, Version: version, License: m.License,
		Description: "codemode for " + p.node + " on " + p.cpu + "; install codemode instead",
		OS:          []string{p.node}, CPU: []string{p.cpu}, Files: files, PreferUnplug: true,
	}, filepath.Base(binary), data)
}

func write(dir string, m manifest, name string, program []byte) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package.json"), append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "README.md"), readme, 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), program, 0o755)
	}
	return err
}
