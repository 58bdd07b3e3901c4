// A measurement while it runs: how far it is, its tables and figures, as soon as another input is complete.
const LAB = 900; // least milliseconds between two looks

class Lab {
  constructor(player) {
    this.player = player;
    this.id = null;
    this.have = 0;
    this.figures = [];
    this.watch = latest((key, id) => this.run(key, id));
  }

  async run(key, id) {
    if (id !== this.id) Object.assign(this, { key, id, have: 0, figures: [] });
    for (;;) {
      const began = performance.now();
      const wish = { key, id, have: this.look === theme() ? this.have : -1, theme: theme() };
      const found = await insist(() => this.player.call("measurement", wish), () => this.id === id);
      if (this.id !== id || !found) return;
      fill("lab-progress", found.progress);
      if (found.tables !== undefined) {
        this.have = found.have;
        this.look = theme();
        this.figures = found.figures;
        fill("lab-tables", found.tables);
        this.draw();
      }
      room("lab-save").hidden = !this.have;
      if (found.ended) return;
      await pause(Math.max(LAB, 3 * (performance.now() - began)));
    }
  }

  // The figures know how high they are; the page, how wide.
  draw() {
    const place = room("lab-figures");
    if (!place?.clientWidth) return;
    while (place.children.length > this.figures.length) {
      window.Plotly.purge(place.lastChild.querySelector(".plot"));
      place.lastChild.remove();
    }
    while (place.children.length < this.figures.length) {
      place.appendChild(document.createElement("section")).innerHTML = '<h3></h3><p class="muted"></p><div class="plot"></div>';
    } // all of them before any is drawn: how wide one is depends on how many there are
    this.figures.forEach((figure, at) => {
      const [title, note, plot] = place.children[at].children;
      title.textContent = figure.title;
      note.textContent = figure.note;
      const layout = { ...figure.spec.layout, width: plot.clientWidth, autosize: false };
      window.Plotly.react(plot, figure.spec.data, layout, { displayModeBar: false, doubleClick: false });
    });
  }

  async save(kind) {
    const file = this.id && (await this.player.call("measured", { key: this.key, id: this.id, kind }));
    if (file) download(file, kind === "html" ? "text/html" : kind === "csv" ? "text/csv" : "application/jsonl");
  }
}
