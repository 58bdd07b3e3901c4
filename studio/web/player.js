// The one who knows which pass is on show: follows an answer while it grows, stays put when the reader has moved away.
// Views are made by the server from (trace, pass, node, theme); the ones of a pass never change, so they are kept here.
const KEPT = 400; // views
const LIVE = 190; // least milliseconds between two looks at a growing answer
const SPEEDS = [0.5, 1, 2, 4];
const BEAT = 1100; // milliseconds a pass stays on show while playing, at speed 1

class Player {
  constructor(server, lost, drawn) {
    this.server = server;
    this.drawn = drawn; // called when there is a new picture of tokens over own time
    this.lost = lost; // called with true when the server cannot be reached, with false when it can again
    this.views = new Map();
    this.whole = { passes: 0 };
    this.id = null;
    this.live = false;
    this.following = true;
    this.step = null;
    this.node = null;
    this.speed = 1;
    this.readable = false; // the reader asked for every token's label
    this.look = latest(() => this.refresh());
    this.turn = latest((step, move) => this.turnTo(step, move));
  }

  async call(name, wish) {
    try {
      const answer = await this.server[name](wish);
      this.lost(false);
      return answer && !answer.error ? answer : null;
    } catch {
      this.lost(true);
      return null;
    }
  }

  // What the page was told: which trace, and whether it is still growing.
  async open(id, live, at) {
    const other = id !== this.id;
    this.live = live;
    if (other) {
      this.stop();
      Object.assign(this, { id, step: null, node: null, following: at === undefined, whole: { passes: 0 }, ribbon: 0 });
      $("ribbon").classList.add("waiting");
    }
    $("right").dataset.waiting = Boolean(live && !id);
    if (live && !id) fill("caption", '<p class="facts">Reading the question and the picture. The tree appears with the first pass.</p>');
    if (live && !id) return;
    await this.look();
    if (other && at !== undefined) this.turn(at, true);
  }

  async refresh() {
    const { id } = this;
    const began = performance.now();
    if (document.hidden && this.live) return;
    const whole = await this.call("whole", { id, have: this.ribbon, theme: theme() });
    if (!whole || id !== this.id) return;
    this.whole = whole;
    this.say(whole);
    const last = whole.shown;
    const target = this.following || this.step === null ? last : Math.min(this.step, whole.passes - 1);
    if (target !== null && (target !== this.step || this.stale)) await this.turnTo(target, true);
    this.transport();
    if (this.live) await pause(Math.max(0, LIVE - (performance.now() - began)));
  }

  say(whole) {
    const strip = room("ribbon").querySelector(".ribbon") || this.blank();
    if (whole.first === 0) strip.replaceChildren();
    strip.insertAdjacentHTML("beforeend", whole.ribbon.join(""));
    this.ribbon = whole.first + whole.ribbon.length;
    $("ribbon").classList.remove("waiting");
    if (this.following) room("ribbon").scrollTop = room("ribbon").scrollHeight;
    fill("numbers", whole.numbers);
    fill("exact-badge", whole.badge);
    fill("origin", whole.origin);
    fill("split", whole.split);
    this.throughput = whole.throughput;
    this.drawn();
    if (!whole.passes) this.nothing(whole.empty);
  }

  blank() {
    room("ribbon").innerHTML = '<div class="ribbon"></div>';
    return room("ribbon").firstChild;
  }

  nothing(sentence) {
    this.step = null;
    fill("caption", "");
    fill("inspector", "");
    this.tree?.show(sentence, null, false);
    this.weights = null;
    window.Plotly.purge(room("weights").querySelector(".plot"));
  }

  async view(step) {
    const dense = !this.readable;
    const key = [this.id, step, theme(), dense, Math.round(this.tree.height / 40)].join(" ");
    if (this.views.has(key)) return this.views.get(key);
    const view = await this.call("one", { id: this.id, step, theme: theme(), height: this.tree.height, dense });
    if (!view) return null;
    this.views.set(key, view);
    if (this.views.size > KEPT) this.views.delete(this.views.keys().next().value);
    return view;
  }

  async turnTo(step, move) {
    const { id } = this;
    const view = await this.view(step);
    if (!view || id !== this.id) return;
    const fresh = step !== this.step;
    this.step = step;
    this.stale = false;
    if (fresh) this.node = null;
    this.tree.show(view.tree, this.node ?? view.node, move && fresh);
    fill("caption", view.caption);
    draw("weights", view.weights);
    this.weights = view.weights;
    $("tree").querySelector(".toggle").hidden = !view.tall;
    $("tree").querySelector(".toggle").textContent = this.readable ? "See the whole tree" : "Read every token";
    this.mark();
    this.transport();
    await this.inspect(this.node ?? view.node, fresh ? view.inspector : null);
    if (!this.live) [step + 1, step - 1].forEach((near) => near >= 0 && near < this.whole.passes && this.view(near));
  }

  async inspect(node, known) {
    const { id, step } = this;
    const html = known || (await this.call("node", { id, step, node }))?.inspector;
    if (html && id === this.id && step === this.step) fill("inspector", html);
    document.dispatchEvent(new CustomEvent("recap:node", { detail: { id, step, node } }));
  }

  choose(node) {
    this.node = node;
    this.tree.select(node);
    this.mark();
    this.inspect(node, null);
  }

  go(step, node = null) {
    const passes = this.whole.passes;
    if (!passes) return;
    const to = Math.min(Math.max(step, 0), passes - 1);
    this.following = this.live && to === passes - 1;
    this.stop();
    if (to === this.step) {
      if (node !== null) this.choose(node);
      return;
    }
    this.turn(to, true).then(() => node !== null && this.step === to && this.choose(node));
  }

  follow() {
    this.following = true;
    this.stop();
    this.go(this.whole.passes - 1);
    this.following = true;
    this.transport();
  }

  mark() {
    for (const old of document.querySelectorAll("#ribbon .current")) old.classList.remove("current");
    const pass = document.querySelector(`#ribbon .pass[data-step="${this.step}"]`);
    pass?.classList.add("current");
    if (this.node !== null) pass?.querySelector(`.token[data-node="${this.node}"]`)?.classList.add("current");
    const strip = room("ribbon");
    if (!pass || this.following) return;
    const top = pass.offsetTop - strip.offsetTop;
    if (top < strip.scrollTop || top + pass.offsetHeight > strip.scrollTop + strip.clientHeight) strip.scrollTop = top - 8;
  }

  transport() {
    const { passes } = this.whole;
    const slider = $("step-slider")?.querySelector("input");
    if (!slider) return;
    const now = this.step ?? 0;
    slider.max = Math.max(passes, 1);
    slider.value = now + 1;
    slider.disabled = passes < 2;
    slider.setAttribute("aria-valuetext", passes ? `pass ${now + 1} of ${passes}` : "no pass yet");
    $("where").querySelector(".room").textContent = passes ? `${now + 1} / ${passes}` : "–";
    $("previous").disabled = !passes || now === 0;
    $("next").disabled = !passes || now >= passes - 1;
    $("play").disabled = passes < 2;
    $("follow").hidden = !(this.live && !this.following);
  }

  get playing() {
    return this.timer !== undefined;
  }

  play() {
    if (this.playing) return this.stop();
    if (this.step >= this.whole.passes - 1) this.turn(0, true);
    this.following = false;
    const beat = () => {
      if (this.step >= this.whole.passes - 1 && !this.live) return this.stop();
      this.timer = setTimeout(beat, BEAT / this.speed);
      if (this.step < this.whole.passes - 1) this.turn(this.step + 1, true);
    };
    this.timer = setTimeout(beat, BEAT / this.speed);
    this.face();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.face();
  }

  face() {
    const button = $("play");
    if (!button) return;
    button.textContent = this.playing ? "❚❚ Pause" : "▶ Play";
    button.setAttribute("aria-pressed", this.playing);
  }

  faster() {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
    $("speed").textContent = `${this.speed}×`;
    $("speed").setAttribute("aria-label", `Speed of playing: ${this.speed} times`);
  }

  // The colours of the page or the size of its parts have changed.
  redraw() {
    if (!this.tree) return;
    this.stale = true;
    this.look();
  }

  resize() {
    draw("weights", this.weights);
    this.drawn();
  }
}
