package picture

import "strings"

// The lists are of SVG 1.1 and 2 (w3.org/TR/SVG11, w3.org/TR/SVG2, 2026-11): what draws, and neither acts, animates,
// links nor fetches. Names are as they are written there.
var (
	elements = set(`svg g defs symbol use path rect circle ellipse line polyline polygon text tspan textPath title desc
		style image
		linearGradient radialGradient stop clipPath mask pattern marker filter feBlend feColorMatrix
		feComponentTransfer feComposite
		feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode feOffset`)

	// texts are elements that may hold text.
	texts = set(`text tspan textPath title desc style`)

	attributes = set(`id class style href version type viewBox preserveAspectRatio x y x1 y1 x2 y2 dx dy cx cy r rx ry
		fx fy fr
		width height d points pathLength rotate textLength lengthAdjust startOffset method spacing side transform
		gradientTransform
		gradientUnits spreadMethod offset patternUnits patternContentUnits patternTransform clipPathUnits maskUnits
		maskContentUnits
		markerUnits markerWidth markerHeight refX refY orient filterUnits primitiveUnits in in2 result operator k1 k2
		k3 k4 mode
		values stdDeviation edgeMode tableValues slope intercept amplitude exponent`)

	// properties stand in styles, and as attributes.
	properties = set(`fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin
		stroke-miterlimit
		stroke-dasharray stroke-dashoffset opacity color display visibility overflow clip-path clip-rule mask filter
		flood-color
		flood-opacity stop-color stop-opacity color-interpolation color-interpolation-filters color-rendering
		shape-rendering
		text-rendering image-rendering vector-effect paint-order mix-blend-mode isolation marker marker-start
		marker-mid marker-end
		font font-family font-size font-style font-weight font-variant font-stretch font-size-adjust letter-spacing
		word-spacing
		text-anchor text-decoration text-align dominant-baseline alignment-baseline baseline-shift writing-mode
		direction
		unicode-bidi white-space line-height transform transform-origin background background-color`)

	functions = set(`rgb rgba hsl hsla matrix translate translatex translatey scale scalex scaley rotate skewx skewy`)
)

func set(words string) map[string]bool {
	s := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		s[word] = true
	}
	return s
}
