// Command charts draws what `go run ./bench -charts FILE` has measured, as SVG for docs/: each chart twice, for light
// pages and for dark ones. It is a module of its own, so that codemode does not depend on what draws.
//
//	go run . FILE ../../docs/charts
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// bar is what the bench has written of one side, in milliseconds.
type bar struct {
	Chart, Label      string
	Low, Median, High float64
}

var titles = map[string]string{
	"start": "A process that prints 1, from its start to its end",
	"calls": "1,000 calls of a tool that does nothing",
}

// theme is the colours of a page.
type theme struct {
	name                string
	ink, paper, of, own color.Color
}

var themes = []theme{
	{"light", color.Gray{0x20}, color.White, color.RGBA{0x9a, 0xa5, 0xb1, 0xff}, color.RGBA{0x1f, 0x6f, 0xeb, 0xff}},
	{
		"dark",
		color.Gray{0xe0},
		color.RGBA{0x0d, 0x11, 0x17, 0xff},
		color.RGBA{0x6e, 0x76, 0x81, 0xff},
		color.RGBA{0x58, 0xa6, 0xff, 0xff},
	},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: charts FILE FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

func run(file, folder string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var bars []bar
	if err := json.Unmarshal(data, &bars); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, title := range titles {
		of := slices.DeleteFunc(slices.Clone(bars), func(b bar) bool { return b.Chart != name })
		if len(of) == 0 {
			continue
		}
		for _, t := range themes {
			if err := draws(filepath.Join(folder, name+"-"+t.name+".svg"), title, of, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// draws draws bars from above to below, in the order in which they were measured.
func draws(file, title string, bars []bar, t theme) error {
	bars = slices.Clone(bars)
	slices.Reverse(bars)
	p := plot.New()
	p.BackgroundColor = t.paper
	p.Title.Text, p.Title.Padding = title, vg.Points(8)
	p.X.Label.Text = "milliseconds: median, and what eight of ten are within"
	p.X.Min = 0
	p.HideY()
	names, spans, figures := []string{}, spans{}, plotter.XYLabels{}
	for i, b := range bars {
		values, c := make(plotter.Values, len(bars)), t.of
		if values[i] = b.Median; len(b.Label) >= 8 && b.Label[:8] == "codemode" {
			c = t.own
		}
		chart, err := plotter.NewBarChart(values, vg.Points(18))
		if err != nil {
			return err
		}
		chart.Horizontal, chart.Color, chart.LineStyle.Width = true, c, 0
		p.Add(chart)
		names = append(names, b.Label+"        ") // room for a font that is wider than the one it is measured with
		figures.XYs = append(figures.XYs, plotter.XY{X: b.High, Y: float64(i)})
		figures.Labels = append(figures.Labels, fmt.Sprintf("%.3g", b.Median))
		spans.XYs = append(spans.XYs, plotter.XY{X: b.Median, Y: float64(i)})
		spans.XErrors = append(spans.XErrors, struct{ Low, High float64 }{b.Median - b.Low, b.High - b.Median})
	}
	whiskers, err := plotter.NewXErrorBars(spans)
	if err != nil {
		return err
	}
	whiskers.Color = t.ink
	p.Add(whiskers)
	labels, err := plotter.NewLabels(figures)
	if err != nil {
		return err
	}
	labels.Offset = vg.Point{X: vg.Points(6), Y: -vg.Points(4)}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Color, labels.TextStyle[i].Font.Variant = t.ink, "Sans"
	}
	p.Add(labels)
	p.NominalY(names...)
	p.Y.Padding = vg.Points(10)
	p.X.Max *= 1.1 // room for the last figure
	inks(p, t.ink)
	return save(p, t, file, vg.Length(len(bars))*vg.Points(30)+vg.Points(90))
}

// fonts are those that a reader may have in the place of the one that gonum measures texts with; the first two are as
// wide. Margins are for those that are wider.
const fonts = "font-family:Liberation Sans,Arial,Helvetica,sans-serif"

func save(p *plot.Plot, t theme, file string, high vg.Length) error {
	const margin = vg.Length(14)
	canvas := vgsvg.New(8*vg.Inch, high)
	all := draw.New(canvas)
	all.SetColor(t.paper)
	all.Fill(all.Rectangle.Path())
	p.Draw(draw.Crop(all, 2*margin, -margin, margin, -margin))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	out := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans"), []byte(fonts))
	return os.WriteFile(file, out, 0o644)
}

// spans are medians and how far what was measured lies from them.
type spans struct {
	plotter.XYs
	plotter.XErrors
}

// inks has all that is written be in one colour, and in the reader's own font.
func inks(p *plot.Plot, ink color.Color) {
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		size := style.Font.Size
		style.Color, style.Font = ink, sans
		style.Font.Size = size
	}
	for _, line := range []*draw.LineStyle{&p.X.LineStyle, &p.X.Tick.LineStyle, &p.Y.LineStyle, &p.Y.Tick.LineStyle} {
		line.Color = ink
	}
}
