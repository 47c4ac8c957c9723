package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"codemode/internal/sandbox"
)

// Image is the runtime's image in the engine's store.
type Image struct{ r *Runtime }

// Image returns the image that containers are made from.
func (r *Runtime) Image() Image { return Image{r} }

// Name is as configured.
func (i Image) Name() string { return i.r.opts.Image }

// Present tells whether the engine has the image.
func (i Image) Present(ctx context.Context) (bool, error) {
	e, err := i.r.ready(ctx)
	if err != nil {
		return false, err
	}
	if e.name == Kubernetes {
		return true, nil // each node fetches it when a pod needs it
	}
	_, err = e.ask(ctx, "image", "inspect", "--format", "{{.Id}}", i.r.opts.Image)
	if err == nil {
		return true, nil
	}
	err = e.diagnose("looking for image "+i.r.opts.Image, err)
	var unavailable *sandbox.UnavailableError
	if errors.As(err, &unavailable) && unavailable.Code == "image-missing" {
		return false, nil
	}
	return false, err
}

// Pull fetches the image, also where the engine has an older one of that name. progress gets the engine's
// own words, line by line; it may be nil. ctx alone bounds the time.
func (i Image) Pull(ctx context.Context, progress func(line string)) error {
	e, err := i.r.ready(ctx)
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(string) {}
	}
	begin := time.Now()
	if _, err := e.run(ctx, progress, append(e.global, "pull", i.r.opts.Image)...); err != nil {
		err = e.diagnose("pulling image "+i.r.opts.Image, err)
		if unavailable, ok := errors.AsType[*sandbox.UnavailableError](err); ok && unavailable.Code == codeEngine {
			unavailable.Remedy = []string{"Check the image's name, and that its registry can be reached."}
		}
		return err
	}
	i.r.mu.Lock()
	i.r.volumes = nil // it may be another image now
	i.r.mu.Unlock()
	i.r.log.Debug("image pulled", "image", i.r.opts.Image, "took", time.Since(begin))
	return nil
}

// imageVolumes are the directories that docker would make a writable volume of, without a limit, because the image says
// so. Podman is told to leave them alone.
func (r *Runtime) imageVolumes(ctx context.Context, e *engine) ([]string, error) {
	if e.name != Docker {
		return nil, nil
	}
	r.mu.Lock()
	volumes := r.volumes
	r.mu.Unlock()
	if volumes != nil {
		return volumes, nil
	}
	text, err := e.ask(ctx, "image", "inspect", "--format", "{{json .Config.Volumes}}", r.opts.Image)
	if err != nil {
		return nil, e.diagnose("looking at image "+r.opts.Image, err)
	}
	var declared map[string]struct{}
	if err := json.Unmarshal([]byte(text), &declared); err != nil && strings.TrimSpace(text) != "" {
		return nil, e.unavailable(
			codeEngine,
			"looking at image "+r.opts.Image,
			fmt.Errorf("`docker image inspect` said %q", clip(text)),
		)
	}
	volumes = []string{}
	for dir := range declared {
		if dir = path.Clean("/" + dir); strings.Contains(dir, ":") {
			return nil, e.unavailable(
				"image-volume",
				"looking at image "+r.opts.Image,
				fmt.Errorf("volume %q cannot be closed: its name has a colon", dir),
				"Set `sandbox.image` to another image.",
			)
		}
		if !slices.Contains([]string{"/tmp", "/workspace", "/dev/shm", sandbox.GuestDir}, dir) { // has a mount already
			volumes = append(volumes, dir)
		}
	}
	r.mu.Lock()
	r.volumes = volumes
	r.mu.Unlock()
	return volumes, nil
}
