package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"codemode/internal/config"
	"codemode/internal/visible"
)

const (
	maxLibraries     = 40              // bytes of packages' names in the tool's definition, about 12 tokens
	packagesPatience = 2 * time.Second // an interpreter that nobody has asked yet what it is takes a tenth
	plainImage       = "python:"       // the beginning of images that have the standard library and nothing else
)

// libraries is what code can import: the embedded Python has its standard library, another one may have more, and the
// user may have added some.
func (s *Server) libraries() string {
	c := s.opts.Config.Sandbox
	engine := c.Runtime != config.RuntimeAuto && c.Runtime != config.RuntimeNative && c.Runtime != ""
	switch {
	case engine && !strings.HasPrefix(c.Image, plainImage):
		return "what the image " + visible.Line(c.Image) + " has"
	case s.opts.Packages == nil && (engine || c.Python == ""):
		return "standard library only"
	case s.opts.Packages == nil:
		return "the packages of " + visible.Line(c.Python)
	}
	ctx, cancel := context.WithTimeout(context.Background(), packagesPatience)
	defer cancel()
	names, err := s.opts.Packages(ctx)
	if err != nil {
		return "the packages of " + visible.Line(c.Python)
	}
	if len(names) == 0 {
		return "standard library only"
	}
	return "standard library" + some(names)
}

// some are packages' names as far as there is room, and the number of the rest.
func some(names []string) string {
	text := ""
	for i, name := range names {
		if len(text)+len(name) > maxLibraries {
			return fmt.Sprintf("%s and %d more", text, len(names)-i)
		}
		text += ", " + visible.Line(name)
	}
	return text
}
