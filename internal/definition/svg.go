package definition

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
)

// Measures of the drawing, in pixels.
const (
	boxWidth   = 216
	boxHeight  = 50
	gapX       = 36
	gapY       = 62
	margin     = 28
	laneSpread = 12
)

// SVG draws a definition, finished or not: top-down in layers, the good way on
// the left, colours that follow the viewer's light or dark preference. The
// result holds no script and nothing from elsewhere. The kinds are as for Mermaid.
func SVG(body json.RawMessage, kinds ...rondo.StepKind) (string, error) {
	return SVGOf(rondo.KindCase, body, kinds...)
}

// SVGOf draws a definition of any kind, as SVG does for cases.
func SVGOf(kind rondo.DefinitionKind, body json.RawMessage, kinds ...rondo.StepKind) (string, error) {
	d, err := readDrawingOf(kind, body, kinds)
	if err != nil {
		return "", err
	}
	l := newLayout(d)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`+"\n",
		l.width, l.height, l.width, l.height, escape(d.name))
	fmt.Fprintf(&b, "<title>%s</title>\n%s", escape(d.name), svgStyle)
	for _, e := range l.edges {
		b.WriteString(drawEdge(e))
	}
	for _, n := range l.loops {
		b.WriteString(drawLoop(n))
	}
	for _, n := range l.boxes {
		b.WriteString(drawBox(n))
	}
	for _, e := range l.edges {
		b.WriteString(drawLabel(e))
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

const svgStyle = `<style>
  svg { --ink: #1c2733; --soft: #5b6b7c; --line: #8796a5; --paper: #ffffff; --work: #eaf2fb; --choice: #fff4d6; --stop: #fde8e6; --end: #e4f5e9; --person: #e2f4f3; --wait: #f1f3f5; --fork: #efe9fb; --branch: #7a5cc2; --bad: #c0473c; background: var(--paper); }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --soft: #9fb0c0; --line: #6b7c8d; --paper: #12181f; --work: #1b2c40; --choice: #3a3116; --stop: #43211f; --end: #17361f; --person: #143634; --wait: #20272f; --fork: #2b2340; --branch: #a78ee6; --bad: #e5766b; }
  }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink); text-anchor: middle; }
  text.name { font-weight: 600; }
  text.sub { font-size: 11px; fill: var(--soft); }
  text.label { font-size: 11px; fill: var(--soft); paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
  .box { stroke: var(--line); stroke-width: 1.2; }
  .work { fill: var(--work); } .choice { fill: var(--choice); } .stop { fill: var(--stop); } .end { fill: var(--end); }
  .person { fill: var(--person); } .wait { fill: var(--wait); } .fork { fill: var(--fork); stroke: var(--branch); }
  .mark { fill: none; stroke: var(--soft); stroke-width: 1.4; stroke-linecap: round; }
  .bar { stroke: var(--branch); stroke-width: 4; stroke-linecap: round; }
  .edge { fill: none; stroke: var(--line); stroke-width: 1.4; }
  .bad { stroke: var(--bad); stroke-dasharray: 4 3; }
  .branch { stroke: var(--branch); stroke-width: 2; } text.branchname { fill: var(--branch); font-weight: 600; }
  .tip { fill: var(--line); } .badtip { fill: var(--bad); } .branchtip { fill: var(--branch); }
</style>
`

func drawBox(n *box) string {
	x, y, w, h := n.x-n.w/2, n.y, n.w, n.h
	var b strings.Builder
	fmt.Fprintf(&b, `<g class="step"><title>%s: %s</title>`, escape(n.name), escape(n.sub))
	switch n.shape {
	case shapeChoice:
		cut := h / 2
		fmt.Fprintf(&b, `<path class="box choice" d="M%.1f %.1f L%.1f %.1f L%.1f %.1f L%.1f %.1f L%.1f %.1f L%.1f %.1f Z"/>`,
			x, y+cut, x+cut/1.6, y, x+w-cut/1.6, y, x+w, y+cut, x+w-cut/1.6, y+h, x+cut/1.6, y+h)
	default:
		radius := 8.0
		if n.sub == "" || n.shape == shapeWait {
			radius = h / 2
		}
		fmt.Fprintf(&b, `<rect class="box %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`, shapeClass(n.shape), x, y, w, h, radius)
		b.WriteString(drawMark(n))
	}
	middle, letters := n.x, 31
	if n.shape == shapePerson || n.shape == shapeWait { // beside the mark
		middle, letters = n.x+10, 28
	}
	if n.sub == "" {
		fmt.Fprintf(&b, `<text class="name" x="%.1f" y="%.1f">%s</text>`, middle, y+h/2+4.5, escape(fit(n.name, 26)))
	} else {
		fmt.Fprintf(&b, `<text class="name" x="%.1f" y="%.1f">%s</text>`, middle, y+h/2-3, escape(fit(n.name, letters-5)))
		fmt.Fprintf(&b, `<text class="sub" x="%.1f" y="%.1f">%s</text>`, middle, y+h/2+14, escape(fit(n.sub, letters)))
	}
	b.WriteString("</g>\n")
	return b.String()
}

func shapeClass(s shape) string {
	switch s {
	case shapeStop:
		return "stop"
	case shapeEnd, shapeFinal:
		return "end"
	case shapePerson:
		return "person"
	case shapeWait:
		return "wait"
	case shapeFork, shapeJoin, shapeStart:
		return "fork"
	}
	return "work"
}

// drawMark draws the sign that tells a step's nature at a glance: a head, a
// clock, or the bar at which ways part and meet.
func drawMark(n *box) string {
	x, y := n.x-n.w/2+18, n.y+n.h/2
	switch n.shape {
	case shapePerson:
		return fmt.Sprintf(`<path class="mark" d="M%.1f %.1f m-3.6 0 a3.6 3.6 0 1 0 7.2 0 a3.6 3.6 0 1 0 -7.2 0 M%.1f %.1f a7 6.5 0 0 1 14 0"/>`, x, y-5, x-7, y+8)
	case shapeWait:
		return fmt.Sprintf(`<path class="mark" d="M%.1f %.1f m-6.5 0 a6.5 6.5 0 1 0 13 0 a6.5 6.5 0 1 0 -13 0 M%.1f %.1f v-4 M%.1f %.1f h3"/>`, x+2, y, x+2, y, x+2, y)
	case shapeFork:
		return fmt.Sprintf(`<path class="bar" d="M%.1f %.1f h%.1f"/>`, n.x-n.w/2+8, n.y+n.h, n.w-16)
	case shapeJoin:
		return fmt.Sprintf(`<path class="bar" d="M%.1f %.1f h%.1f"/>`, n.x-n.w/2+16, n.y, n.w-32)
	}
	return ""
}

// drawEdge draws a smooth line through the edge's points and a tip at its end.
func drawEdge(e *line) string {
	class, tip := "edge", "tip"
	switch e.kind {
	case wayBad:
		class, tip = "edge bad", "badtip"
	case wayBranch:
		class, tip = "edge branch", "branchtip"
	}
	var b strings.Builder
	first, last := e.points[0], e.points[len(e.points)-1]
	begin := first.y
	if e.back {
		begin += 7
	}
	fmt.Fprintf(&b, `<path class="%s" d="M%.1f %.1f`, class, first.x, begin)
	for i := 1; i < len(e.points); i++ {
		p, q := e.points[i-1], e.points[i]
		if i == 1 && e.back {
			p.y += 7
		}
		if i == len(e.points)-1 && !e.back {
			q.y -= 7
		}
		bend := math.Abs(q.y-p.y) / 2
		if q.x == p.x {
			fmt.Fprintf(&b, ` L%.1f %.1f`, q.x, q.y)
		} else {
			fmt.Fprintf(&b, ` C%.1f %.1f %.1f %.1f %.1f %.1f`, p.x, p.y+bend, q.x, q.y-bend, q.x, q.y)
		}
	}
	end, rise := last, -8
	if e.back {
		end, rise = first, 8
	}
	fmt.Fprintf(&b, `"/><path class="%s" d="M%.1f %.1f l-4.5 %d h9 Z"/>`+"\n", tip, end.x, end.y, rise)
	return b.String()
}

// drawLoop draws a way from a box to itself, at its upper right corner.
func drawLoop(n *loop) string {
	x, y := n.box.x+n.box.w/2, n.box.y
	return fmt.Sprintf(`<path class="edge" d="M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f"/><path class="tip" d="M%.1f %.1f l8 -4.5 v9 Z"/>`+
		`<text class="label" x="%.1f" y="%.1f">%s</text>`+"\n",
		x-22, y, x-22, y-22, x+26, y+n.box.h/2, x+7, y+n.box.h/2, x, y+n.box.h/2, x-22, y-16, escape(fit(n.label, 24)))
}

// drawLabel puts the outcome near where its line leaves the step.
func drawLabel(e *line) string {
	if e.label == "" {
		return ""
	}
	p, q, below := e.points[0], e.points[1], 16+float64(e.lane%2)*13
	if e.back {
		p, q, below = e.points[len(e.points)-1], e.points[len(e.points)-2], -8-float64(e.lane%2)*13
	}
	x := p.x + (q.x-p.x)*0.12
	class := "label"
	if e.kind == wayBranch {
		class = "label branchname"
	}
	return fmt.Sprintf(`<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, p.y+below, escape(fit(e.label, 24)))
}

func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, s))
}

// fit shortens a text to about n characters.
func fit(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}
