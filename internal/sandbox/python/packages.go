package python

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// telling are packages whose names say most about what code can do, the likeliest wanted first.
var telling = []string{
	"numpy", "pandas", "polars", "scipy", "matplotlib", "scikit-learn", "duckdb", "pyarrow", "openpyxl", "pillow",
	"lxml", "beautifulsoup4", "PyYAML", "sympy", "networkx", "pydantic", "Jinja2", "python-dateutil", "pytz", "regex",
}

// tools are packages that code has no use for.
var tools = []string{"pip", "setuptools", "wheel", "distribute"}

// Packages are the names of what is installed beside the standard library, the best known first.
func (s Source) Packages(ctx context.Context) ([]string, error) {
	py, err := s.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, dir := range py.SitePackages {
		entries, err := os.ReadDir(py.HostPath(dir))
		if err != nil {
			continue // it need not be there
		}
		for _, e := range entries {
			name, _, _ := strings.Cut(e.Name(), "-") // NAME-VERSION.dist-info, Debian's .egg-info
			name = strings.ReplaceAll(name, "_", "-")
			ext := filepath.Ext(e.Name())
			if (ext == ".dist-info" || ext == ".egg-info") && !slices.Contains(tools, name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(known(a), known(b)), strings.Compare(a, b))
	})
	return slices.Compact(names), nil
}

// known is a name's place in telling, or behind it.
func known(name string) int {
	at := slices.IndexFunc(telling, func(t string) bool { return strings.EqualFold(t, name) })
	if at < 0 {
		return len(telling)
	}
	return at
}
