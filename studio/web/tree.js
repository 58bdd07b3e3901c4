// The draft tree in its frame. A row and a column keep their size in pixels, so that a node which stays in the tree
// stays where it is on the page; the frame scrolls, and the zoom that a reader chose holds from pass to pass.
const ZOOM = { least: 0.5, most: 2.5, step: 1.25 };

class Tree {
  constructor(frame, chosen) {
    this.frame = frame;
    this.plot = frame.querySelector(".plot");
    this.zoom = 1;
    this.node = null;
    this.chosen = chosen; // called with a node's number when the reader clicks on it
    new ResizeObserver(() => this.draw()).observe(frame);
  }

  get height() {
    return this.frame.clientHeight;
  }

  show(spec, node, move) {
    this.spec = spec;
    this.node = node;
    const end = this.draw();
    if (move && end) this.reveal(end);
  }

  draw() {
    const width = this.frame.clientWidth;
    if (!window.Plotly || !this.spec || !width) return null;
    const layout = structuredClone(this.spec.layout);
    const data = this.spec.data.map((trace) => ({ ...trace }));
    const { row, column, widest, columns, focus } = layout.meta;
    const pitch = { x: Math.min(Math.max(width / columns, column), widest) * this.zoom, y: row * this.zoom };
    const [left] = layout.xaxis.range;
    const [bottom, top] = layout.yaxis.range;
    layout.width = Math.max(width, Math.round(columns * pitch.x));
    layout.height = Math.max(this.height, Math.floor((bottom - top) * pitch.y));
    layout.xaxis.range = [left, left + layout.width / pitch.x];
    layout.yaxis.range = [top + layout.height / pitch.y, top];
    layout.autosize = false;
    this.ring(data);
    window.Plotly.react(this.plot, data, layout, { displayModeBar: false, doubleClick: false });
    if (!this.listening) {
      this.listening = true;
      this.plot.on("plotly_hover", () => requestAnimationFrame(() => this.keepInView()));
      this.plot.on("plotly_click", ({ points }) => {
        const node = points.map((point) => point.customdata).find((it) => it !== undefined);
        if (node !== undefined) this.chosen(node);
      });
    }
    const [x, y] = focus || [0, 0];
    return { x: (x - left) * pitch.x, y: (y - top) * pitch.y };
  }

  // The chosen node wears a ring; where it stands is read from the nodes that are drawn.
  ring(data) {
    const ring = data.find((trace) => trace.name === "selected");
    if (!ring || this.node === null) return;
    for (const trace of data) {
      const at = trace === ring || !trace.customdata ? -1 : trace.customdata.indexOf(this.node);
      if (at >= 0) [ring.x, ring.y] = [[trace.x[at]], [trace.y[at]]];
    }
  }

  select(node) {
    this.node = node;
    this.draw();
    requestAnimationFrame(() => this.keepInView());
  }

  // Scroll just far enough from the root that a place is in view.
  reveal(place) {
    const { clientWidth, clientHeight } = this.frame;
    this.frame.scrollTo({ left: Math.max(0, place.x + 130 - clientWidth), top: Math.max(0, place.y + 50 - clientHeight) });
  }

  resize(factor) {
    this.zoom = factor === null ? 1 : Math.min(ZOOM.most, Math.max(ZOOM.least, this.zoom * factor));
    this.draw();
  }

  // Plotly knows the width of the whole tree, not how much of it the frame shows: what a node tells is moved into view.
  keepInView() {
    const layer = this.plot.querySelector(".hoverlayer");
    layer.style.transform = "";
    const [box, view] = [layer, this.frame].map((it) => it.getBoundingClientRect());
    const shift = (low, high, from, to) => Math.max(from + 4 - low, Math.min(0, to - 4 - high));
    const x = shift(box.left, box.right, view.left, view.left + this.frame.clientWidth);
    const y = shift(box.top, box.bottom, view.top, view.top + this.frame.clientHeight);
    if (box.width) layer.style.transform = `translate(${x}px, ${y}px)`;
  }
}
