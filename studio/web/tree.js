// The draft tree in its frame. Its figure was made for this frame and says where everything stands: pixels across, rows
// down. A new pass is looked at from its root, and the zoom that a reader chose holds from pass to pass.
const ZOOM = { least: 0.5, most: 2.5, step: 1.25 };
// The drawing lives in a shadow root: there its hundreds of elements are not compared with a thousand rules of the page.
const LOOKS = new CSSStyleSheet();
LOOKS.replaceSync(`
  svg { display: block; }
  .point[data-at], text[data-at] { cursor: pointer; }
  .halo { paint-order: stroke; stroke: var(--ground); stroke-width: 3px; stroke-linejoin: round; }
`);

class Tree {
  constructor(frame, chosen) {
    this.frame = frame;
    this.plot = frame.querySelector(".plot").attachShadow({ mode: "open" });
    this.plot.adoptedStyleSheets = [LOOKS];
    this.tip = frame.parentElement.querySelector(".hoverlayer");
    this.zoom = 1;
    this.node = null;
    this.chosen = chosen; // called with a node's number when the reader clicks on it
    this.plot.addEventListener("click", ({ target }) => {
      const at = this.pointed(target);
      if (at) this.chosen(at.trace.customdata[at.index]);
    });
    // A pointer that rests is not asking, whatever comes to lie under it: only one that moves is told something.
    this.plot.addEventListener("pointermove", ({ target }) => {
      if (this.under !== target) this.tell(target);
    });
    this.plot.addEventListener("pointerleave", () => this.tell(null));
    frame.addEventListener("scroll", () => this.tell(null));
    new ResizeObserver(() => this.draw()).observe(frame);
  }

  // Inside its border, scroll bars or not: those come and go.
  get size() {
    const { width, height } = this.frame.getBoundingClientRect();
    return { width: Math.max(0, Math.floor(width) - 2), height: Math.max(0, Math.floor(height) - 2) };
  }

  show(spec, node, move) {
    this.spec = spec;
    this.node = node;
    if (move) this.frame.scrollTo(0, 0); // before the drawing: after it, the page would have to be laid out here
    this.draw();
  }

  // The zoom enlarges everything alike, so what fits beside each other at one zoom does at any.
  draw() {
    const { clientWidth, clientHeight } = this.frame;
    if (!this.spec || !clientWidth) return;
    const { data, layout } = this.spec;
    const { row, wide, high } = layout.meta;
    const top = layout.yaxis.range[1];
    const [width, height] = [Math.max(clientWidth / this.zoom, wide), Math.max(clientHeight / this.zoom, high)];
    const picture = new Picture({ data: this.ringed(data), layout }, (x, y) => [x, (y - top) * row]);
    this.plot.innerHTML = picture.svg(width, height);
    const drawn = this.plot.firstElementChild;
    drawn.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawn.setAttribute("width", Math.floor(width * this.zoom));
    drawn.setAttribute("height", Math.floor(height * this.zoom));
    this.tell(null);
  }

  // The chosen node wears a ring; where it stands is read from the nodes that are drawn.
  ringed(data) {
    const nodes = data.filter((trace) => trace.mode.includes("markers") && trace.customdata);
    const held = nodes.find((trace) => trace.customdata.includes(this.node));
    if (!held) return data;
    const at = held.customdata.indexOf(this.node);
    return data.map((trace) => (trace.name === "selected" ? { ...trace, x: [held.x[at]], y: [held.y[at]] } : trace));
  }

  // Whoever chooses by keyboard or in the ribbon sees what was chosen.
  select(node) {
    this.node = node;
    this.draw();
    this.plot.querySelector('[data-name="selected"] .point')?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // The next node down its column, then the top of the next column: every node is reached, and the way up is the same.
  beside(by) {
    const all = (this.spec?.data || []).filter((trace) => trace.mode.includes("markers") && trace.customdata).flatMap(
      ({ x, y, customdata }) => customdata.map((node, at) => ({ node, x: x[at], y: y[at] })),
    );
    all.sort((a, b) => a.x - b.x || a.y - b.y);
    const at = all.findIndex(({ node }) => node === this.node);
    return all[(at + by + all.length) % all.length]?.node;
  }

  resize(factor) {
    this.zoom = Math.min(ZOOM.most, Math.max(ZOOM.least, this.zoom * factor));
    this.draw();
  }

  pointed(target) {
    const mark = target?.closest?.("[data-at]");
    return mark && { mark, trace: this.spec.data[mark.dataset.trace], index: Number(mark.dataset.at) };
  }

  // What a node tells stands beside it, inside the frame.
  tell(target) {
    this.under = target;
    const at = this.pointed(target);
    this.tip.hidden = !at;
    if (!at) return;
    const node = at.trace.customdata[at.index];
    const told = this.spec.data.find((trace) => trace.hovertext && trace.customdata.includes(node));
    this.tip.innerHTML = told.hovertext[told.customdata.indexOf(node)];
    const [mark, frame] = [at.mark, this.frame].map((it) => it.getBoundingClientRect());
    const { offsetWidth: wide, offsetHeight: high } = this.tip;
    const right = mark.right + 8 - frame.left;
    const x = right + wide <= frame.width - 4 ? right : Math.max(4, mark.left - frame.left - wide - 8);
    const y = Math.min(Math.max(4, mark.top - frame.top - 8), Math.max(4, frame.height - high - 4));
    this.tip.style.transform = `translate(${x}px, ${y}px)`;
  }
}
