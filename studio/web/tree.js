// The draft tree in its frame. A row and a column keep their size in pixels, so that a node which stays in the tree
// stays where it is on the page; the frame scrolls, and the zoom that a reader chose holds from pass to pass.
const ZOOM = { least: 0.5, most: 2.5, step: 1.25 };

class Tree {
  constructor(frame, chosen) {
    this.frame = frame;
    this.plot = frame.querySelector(".plot");
    this.tip = frame.parentElement.querySelector(".hoverlayer");
    this.zoom = 1;
    this.node = null;
    this.chosen = chosen; // called with a node's number when the reader clicks on it
    this.plot.addEventListener("click", ({ target }) => {
      const at = this.pointed(target);
      if (at) this.chosen(at.trace.customdata[at.index]);
    });
    this.plot.addEventListener("pointerover", ({ target }) => this.tell(target));
    this.plot.addEventListener("pointerleave", () => this.tell(null));
    frame.addEventListener("scroll", () => this.tell(null));
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
    if (!this.spec || !width) return null;
    const { data, layout } = this.spec;
    const { row, column, widest, columns, focus } = layout.meta;
    const pitch = { x: Math.min(Math.max(width / columns, column), widest) * this.zoom, y: row * this.zoom };
    const [left] = layout.xaxis.range;
    const [bottom, top] = layout.yaxis.range;
    const place = (x, y) => [(x - left) * pitch.x, (y - top) * pitch.y];
    const picture = new Picture({ data: this.ringed(data), layout }, place);
    this.plot.innerHTML = picture.svg(
      Math.max(width, Math.round(columns * pitch.x)),
      Math.max(this.height, Math.floor((bottom - top) * pitch.y)),
    );
    this.tell(null);
    return focus ? place(...focus) : null;
  }

  // The chosen node wears a ring; where it stands is read from the nodes that are drawn.
  ringed(data) {
    const nodes = data.filter((trace) => trace.mode.includes("markers") && trace.customdata);
    const held = nodes.find((trace) => trace.customdata.includes(this.node));
    if (!held) return data;
    const at = held.customdata.indexOf(this.node);
    return data.map((trace) => (trace.name === "selected" ? { ...trace, x: [held.x[at]], y: [held.y[at]] } : trace));
  }

  select(node) {
    this.node = node;
    this.draw();
  }

  // Nodes by number, the model's own choice last.
  get nodes() {
    const all = (this.spec?.data || []).filter((trace) => trace.mode.includes("markers")).flatMap((trace) => trace.customdata || []);
    return all.sort((a, b) => (a < 0) - (b < 0) || a - b);
  }

  // Scroll just far enough from the root that a place is in view.
  reveal([x, y]) {
    const { clientWidth, clientHeight } = this.frame;
    this.frame.scrollTo({ left: Math.max(0, x + 130 - clientWidth), top: Math.max(0, y + 50 - clientHeight) });
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
