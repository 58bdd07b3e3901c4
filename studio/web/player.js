// The one who knows which pass is on show: follows an answer while it grows, stays put when the reader has moved away.
// Views are made by the server from (trace, pass, node, theme); the ones of a pass never change, so they are kept here.
const KEPT = 400; // views
const HERE = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
const LIVE = { least: 145, most: 1200, rest: HERE ? 8 : 0.03 }; // milliseconds between two looks at a growing answer; a
// look is followed by that many times its own length of rest, a long one where page and decoder share one machine
const UNHURRIED = 1000; // least milliseconds between two drawings of numbers that need no hurry
const CALM = 140; // milliseconds after which a reader has stopped at a pass
const RESTING = 400; // and after which there is time for what may be wanted next
const PATIENCE = 15_000; // milliseconds after which a view that has not come is taken for a lost connection
const READING = '<p class="facts">Reading the question. The tree appears with the first pass.</p>';
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
    this.wanted = null; // the pass that was asked for last, while its view is under way
    this.node = null;
    this.speed = 1;
    this.readable = false; // the reader asked for every token's label
    this.unhurried = 0; // when they were drawn last
    this.explained = null; // the pass whose node and weights are on show
    this.look = latest(() => this.refresh());
    this.turn = latest((...wish) => this.turnTo(...wish));
  }

  // Views answer every wish, so no answer means that the server could not be reached.
  async call(name, wish, quiet = false) {
    const given = this.server[name](wish).catch(() => undefined);
    const answer = await Promise.race([given, pause(PATIENCE)]);
    this.lost(!answer);
    if (answer?.error && !quiet) this.refused(answer.error);
    return answer && !answer.error ? answer : null;
  }

  refused(sentence) {
    const told = document.createElement("p");
    told.textContent = sentence;
    fill("caption", told.outerHTML);
  }

  // What the page was told: which trace, and whether it is still growing.
  async open(id, live, at) {
    const other = id !== this.id;
    if (this.live && !live) this.stale = true; // what was said of the last pass may have changed with the end
    this.live = live;
    if (other) {
      this.stop();
      clearTimeout(this.calm); // what was to be drawn belongs to the other one
      Object.assign(this, { id, step: null, wanted: null, node: null, explained: null, following: at === undefined, whole: { passes: 0 }, ribbon: 0 });
    }
    $("right").dataset.waiting = Boolean(live && !id);
    if (live && !id) fill("caption", READING);
    if (live && !id) return;
    await this.look();
    if (other && at !== undefined) this.turn(at, true);
  }

  // A growing answer is looked at again and again; what takes longer to draw than it is worth, once a second.
  async refresh() {
    clearTimeout(this.again);
    const began = performance.now();
    const { id, live } = this;
    if (!(document.hidden && live)) await this.update(id, !live || began - this.unhurried >= UNHURRIED);
    if (!this.live) return;
    await painted();
    const spent = performance.now() - began;
    this.again = setTimeout(this.look, Math.min(LIVE.most, Math.max(LIVE.least - spent, LIVE.rest * spent)));
  }

  async update(id, whole) {
    const follow = this.following || this.step === null;
    const wish = { id, have: this.ribbon, theme: theme(), whole, follow, step: this.stale ? null : this.step };
    const found = await this.call("whole", { ...wish, ...this.tree.size, dense: !this.readable });
    if (!found || id !== this.id) return;
    if (whole) this.unhurried = performance.now();
    this.whole = found;
    this.say(found);
    const still = this.following || this.step === null; // and not moved away meanwhile
    if (found.view && still) await this.present(found.view.step, found.view, true, whole);
    else if (this.step !== null && (this.stale || (whole && this.explained !== this.step))) await this.turnTo(Math.min(this.step, found.passes - 1), false);
    this.transport();
  }

  say(whole) {
    const strip = room("ribbon").querySelector(".ribbon") || this.blank();
    if (whole.first === 0) strip.replaceChildren();
    strip.insertAdjacentHTML("beforeend", whole.ribbon.join(""));
    this.ribbon = whole.first + whole.ribbon.length;
    if (this.live && this.following && whole.ribbon.length) room("ribbon").scrollTop = room("ribbon").scrollHeight;
    if (whole.first === 0 && this.step !== null) this.mark(); // the marks went with the old entries
    if (whole.throughput) {
      fill("numbers", whole.numbers);
      fill("exact-badge", whole.badge);
      fill("origin", whole.origin);
      fill("split", whole.split);
      this.throughput = whole.throughput;
      this.drawn();
    }
    if (!whole.passes) this.nothing(whole.empty);
  }

  blank() {
    room("ribbon").innerHTML = '<div class="ribbon"></div>';
    return room("ribbon").firstChild;
  }

  nothing(sentence) {
    clearTimeout(this.calm);
    this.step = this.wanted = null;
    $("tree").querySelector(".toggle").hidden = true;
    fill("caption", "");
    fill("inspector", "");
    this.tree.show(sentence, null, false);
    this.weights = null;
    window.Plotly.purge(room("weights").querySelector(".plot"));
  }

  async view(step) {
    const dense = !this.readable;
    const key = [this.id, step, theme(), dense, ...Object.values(this.tree.size)].join(" ");
    if (this.views.has(key)) return this.views.get(key);
    const view = await this.call("one", { id: this.id, step, theme: theme(), ...this.tree.size, dense });
    if (!view) return null;
    if (!this.live) this.views.set(key, view);
    if (this.views.size > KEPT) this.views.delete(this.views.keys().next().value);
    return view;
  }

  async turnTo(step, move, again = false, node = null) {
    const { id } = this;
    if (step === null || !this.whole.passes) return;
    clearTimeout(this.calm);
    const view = await this.view(step);
    if (id !== this.id) return;
    if (this.wanted === step) this.wanted = null;
    if (!view) return this.transport(); // the slider goes back to what is on show
    await this.present(step, view, move, true, again);
    if (node !== null && this.step === step) this.choose(node);
  }

  // Where the next wish counts from: the pass on its way, else the one on show.
  get at() {
    return this.wanted ?? this.step;
  }

  async present(step, view, move, whole, again = false) {
    const fresh = step !== this.step;
    this.step = step;
    this.stale = false;
    if (fresh) this.node = null;
    const node = this.node ?? view.node;
    this.tree.show(view.tree, node, move && (fresh || again));
    fill("caption", view.caption);
    $("tree").querySelector(".toggle").hidden = !view.tall;
    $("tree").querySelector(".toggle").textContent = this.readable ? "See the whole tree" : "Read every token";
    this.mark();
    this.transport();
    if (!whole) return;
    this.explained = step;
    clearTimeout(this.calm);
    this.calm = setTimeout(() => this.settle(this.id, step, view), CALM);
    await painted(); // the tree first
    if (step === this.step && node === (this.node ?? view.node)) await this.inspect(node, node === view.node ? view.inspector : null);
  }

  // The reader has stopped here: draw what is slow.
  async settle(id, step, view) {
    view.weights ??= (await this.call("weighed", { id, step, theme: theme() }, true))?.weights;
    if (id !== this.id || step !== this.step) return;
    this.weights = view.weights;
    draw("weights", this.weights);
    this.calm = setTimeout(() => this.foresee(), RESTING - CALM);
  }

  // Fetch what may be wanted next, one after the other: a view that is wanted now does not queue behind them.
  async foresee() {
    const { id, step } = this;
    for (const near of [step + 1, step - 1]) {
      if (this.live || id !== this.id || step !== this.step) return;
      if (near >= 0 && near < this.whole.passes) await this.view(near);
    }
  }

  async inspect(node, known) {
    const { id, step } = this;
    const html = known || (await this.call("node", { id, step, node }))?.inspector;
    if (this.node !== null && this.node !== node) return; // another was chosen meanwhile
    if (html && id === this.id && step === this.step) fill("inspector", html);
    document.dispatchEvent(new CustomEvent("recap:node", { detail: { id, step, node } }));
  }

  choose(node) {
    if (this.step === null) return; // what is still drawn belongs to an answer that has gone
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
    if (to === this.at && node === null) return;
    if (to === this.step && this.wanted === null) return this.choose(node);
    this.wanted = to;
    this.turn(to, true, false, node);
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
    if (pass && !(this.live && this.following)) requestAnimationFrame(() => this.reach(pass)); // measured now, the page was laid out twice
  }

  reach(pass) {
    const strip = room("ribbon");
    const top = pass.offsetTop - strip.offsetTop;
    if (top < strip.scrollTop || top + pass.offsetHeight > strip.scrollTop + strip.clientHeight) strip.scrollTop = top - 8;
  }

  transport() {
    const { passes } = this.whole;
    const slider = $("step-slider")?.querySelector("input");
    if (!slider) return;
    const now = this.step ?? 0;
    slider.max = Math.max(passes, 1);
    slider.value = (this.at ?? 0) + 1; // a thumb that is being dragged stays where it is
    slider.disabled = passes < 2;
    slider.setAttribute("aria-valuetext", passes ? `pass ${now + 1} of ${passes}` : "no pass yet");
    $("where").querySelector(".room").textContent = passes ? `${now + 1} / ${passes}` : "–";
    $("previous").disabled = !passes || now === 0;
    $("next").disabled = !passes || now >= passes - 1;
    $("play").disabled = passes < 2;
    if ($("trace-download")) $("trace-download").disabled = this.live || !this.id;
    $("follow").hidden = !(this.live && !this.following);
  }

  get playing() {
    return this.timer !== undefined;
  }

  play() {
    if (this.playing) return this.stop();
    if (!this.whole.passes) return;
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
    if (this.tree?.frame.clientWidth && this.step !== null && !this.live) this.turn(this.step, false); // to fit again
    draw("weights", this.weights);
    this.drawn();
  }
}
