// A tree's figure drawn as SVG. It is the figure that Plotly shows elsewhere (`visual.tree`), but a page that follows a
// decoder on the same machine must draw in a few milliseconds, not in fifty: every one is missing to the decoder.
// The texts of a figure are escaped already; everything else in it is numbers, colours and names of ours.
const OUTLINES = {
  circle: (r) => `M${-r},0a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`,
  square: (r) => `M${-r * 0.9},${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}Z`,
  diamond: (r) => `M0,${-r * 1.2}L${r * 1.2},0L0,${r * 1.2}L${-r * 1.2},0Z`,
  hexagon: (r) => `M${-r},0L${-r / 2},${-r * 0.87}H${r / 2}L${r},0L${r / 2},${r * 0.87}H${-r / 2}Z`,
};

class Picture {
  constructor({ data, layout }, place) {
    this.data = data;
    this.layout = layout;
    this.place = place; // (column, row) -> [x, y] in pixels
  }

  svg(width, height) {
    const body = this.data.map((trace, at) => `<g class="trace" data-name="${trace.name}">${this.trace(trace, at)}</g>`);
    const words = (this.layout.annotations || []).map((note) => this.words(note, width, height));
    return (
      `<svg class="main-svg" width="${width}" height="${height}" font-family="${this.layout.font.family.replaceAll('"', "'")}">` +
      `<g class="scatterlayer">${body.join("")}</g>${words.join("")}</svg>`
    );
  }

  trace(trace, at) {
    if (trace.mode === "lines") return this.line(trace);
    const marks = trace.mode.includes("markers") ? this.marks(trace, at) : "";
    return `<g class="points">${marks}</g>` + (trace.mode.includes("text") ? this.texts(trace, at) : "");
  }

  line({ x, y, line }) {
    let path = "";
    let pen = "M";
    for (let at = 0; at < x.length; at++) {
      if (x[at] === null) {
        pen = "M";
        continue;
      }
      const [left, top] = this.place(x[at], y[at]);
      path += `${pen}${left.toFixed(1)},${top.toFixed(1)}`;
      pen = "L";
    }
    const dash = line.dash === "solid" ? "" : ` stroke-dasharray="${line.width} ${line.width}"`;
    return path && `<path d="${path}" fill="none" stroke="${line.color}" stroke-width="${line.width}"${dash}/>`;
  }

  marks({ x, y, marker, customdata }, at) {
    const of = (value, index) => (Array.isArray(value) ? value[index] : value);
    return x.map((_, index) => {
      const [left, top] = this.place(x[index], y[index]);
      const outline = OUTLINES[of(marker.symbol, index)](of(marker.size, index) / 2);
      const node = customdata ? ` data-trace="${at}" data-at="${index}"` : "";
      return (
        `<path class="point" transform="translate(${left.toFixed(1)},${top.toFixed(1)})" d="${outline}"${node} ` +
        `fill="${of(marker.color, index)}" stroke="${marker.line.color}" stroke-width="${marker.line.width}"/>`
      );
    }).join("");
  }

  texts({ x, y, text, textposition, textfont, customdata, mode }, at) {
    const of = (value, index) => (Array.isArray(value) ? value[index] : value);
    const [upright, side] = textposition.split(" ");
    const anchor = { right: "start", center: "middle", left: "end" }[side];
    const lift = upright === "top" ? -4 : textfont.size * 0.35;
    const looks = `text-anchor="${anchor}" font-size="${textfont.size}" font-weight="${textfont.weight || 400}"`;
    const spots = x.map((_, index) => {
      const [left, top] = this.place(x[index], y[index]);
      return [left.toFixed(1), (top + lift).toFixed(1), of(textfont.color, index)];
    });
    if (mode !== "text") return `<g ${looks} pointer-events="none">${this.letters(spots, text)}</g>`;
    // a token beside its node can be pointed at like the node
    const words = spots.map(([left, top, colour], index) => {
      const node = customdata ? ` data-trace="${at}" data-at="${index}"` : "";
      return `<text x="${left}" y="${top}" fill="${colour}"${node}>${text[index]}</text>`;
    });
    return `<g ${looks}${textfont.shadow === "auto" ? ' class="halo"' : ""}>${words.join("")}</g>`;
  }

  // The letters inside the nodes: all of one colour in one element, which has a place for each of them.
  letters(spots, text) {
    const colours = new Set(spots.map(([, , colour]) => colour));
    return [...colours].map((colour) => {
      const some = spots.map((spot, at) => [...spot, text[at]]).filter(([, , own, letter]) => own === colour && letter);
      const [xs, ys] = [0, 1].map((axis) => some.map((spot) => spot[axis]).join(" "));
      return `<text x="${xs}" y="${ys}" fill="${colour}">${some.map((spot) => spot[3]).join("")}</text>`;
    }).join("");
  }

  // One line of text after another; <b> is the only tag in them.
  words({ x, y, text, xref, xshift = 0, xanchor, font, bgcolor }, width, height) {
    const [left, top] = xref === "paper" ? [x * width, y * height] : this.place(x, y);
    const lines = text.split("<br>");
    const step = font.size * 1.3;
    const first = top - ((lines.length - 1) * step) / 2 + font.size * 0.35;
    const spans = lines.map((line, at) => {
      const parts = line.replaceAll("<b>", '<tspan font-weight="700">').replaceAll("</b>", "</tspan>");
      return `<tspan x="${(left + xshift).toFixed(1)}" y="${(first + at * step).toFixed(1)}">${parts}</tspan>`;
    });
    const behind = bgcolor ? ` stroke="${bgcolor}" stroke-width="5" paint-order="stroke"` : "";
    const anchor = xanchor === "left" ? "start" : "middle";
    return `<text text-anchor="${anchor}" font-size="${font.size}" fill="${font.color}"${behind} pointer-events="none">${spans.join("")}</text>`;
  }
}
