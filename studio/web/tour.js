// "How it works": a few panels, one sentence each. The button calls attention to itself until it was used once.
const SEEN = "recap-tour-seen";
const STOPS = [
  ["#left", "Ask", "Choose a picture and ask about it. Plain decoding lets the model say one token, a piece of a word, per pass. Here it checks many guesses in one pass."],
  ["#tree", "Guess", "Each pass starts from the last token and grows a tree of guesses from what the model itself predicted before: no second model, no training."],
  ["#tree", "Check", "The model reads the whole tree at once. The bold path is what it would have said anyway, so it is kept; at its end the model adds a token of its own. Grey branches are dropped."],
  ["#ribbon", "The answer", "Every token shows who proposed it: memory of the last three (G), two (C) or one token (U), the text's own repetition (S), or the model itself (+). Click on one to see its pass."],
  ["#inspector", "Why", "Click on any node: what each memory held there, how much it weighed, what the model chose instead."],
  ["#race", "Same words, fewer passes", "Race plain decoding on the same question. The words must be identical; passes and time need not be."],
];

class Tour {
  constructor(before) {
    this.before = before; // puts the page in order for a stop
    this.card = document.createElement("div");
    this.card.className = "tour";
    this.card.setAttribute("role", "dialog");
    this.card.setAttribute("aria-label", "How it works");
    this.card.innerHTML =
      '<p class="count"></p><h2></h2><p class="said"></p><div><button type="button" class="skip">Skip</button>' +
      '<span></span><button type="button" class="back">Back</button><button type="button" class="on">Next</button></div>';
    this.card.hidden = true;
    document.querySelector(".gradio-container").append(this.card);
    this.part(".skip").onclick = () => this.end();
    this.part(".back").onclick = () => this.show(this.at - 1);
    this.part(".on").onclick = () => (this.at + 1 < STOPS.length ? this.show(this.at + 1) : this.end());
    addEventListener("resize", () => this.card.hidden || this.place());
    addEventListener("scroll", () => this.card.hidden || this.place(), true);
  }

  part(name) {
    return this.card.querySelector(name);
  }

  get seen() {
    try {
      return localStorage.getItem(SEEN) !== null;
    } catch {
      return true; // a browser that keeps nothing would show it for ever
    }
  }

  show(at) {
    this.at = at;
    this.back ??= document.activeElement;
    const [selector, title, said] = STOPS[at];
    this.before();
    document.querySelector(".toured")?.classList.remove("toured");
    this.marked = document.querySelector(selector);
    this.marked?.classList.add("toured");
    this.part(".count").textContent = `How it works · ${at + 1} of ${STOPS.length}`;
    this.part("h2").textContent = title;
    this.part(".said").textContent = said;
    this.part(".back").disabled = at === 0;
    this.part(".on").textContent = at + 1 < STOPS.length ? "Next" : "Done";
    this.card.hidden = false;
    this.marked?.scrollIntoView({ block: "nearest" });
    this.place();
    this.part(".on").focus({ preventScroll: true });
  }

  // Beside what it tells of, wherever there is room on the screen; never off its edge.
  place() {
    const box = this.marked?.getBoundingClientRect() || { left: 0, right: 0, top: 0, bottom: 0 };
    const { offsetWidth: wide, offsetHeight: high } = this.card;
    const places = [
      [box.left, box.bottom + 10],
      [box.left, box.top - high - 10],
      [box.right + 10, box.top],
      [box.left - wide - 10, box.top],
    ];
    const fits = ([x, y]) => x >= 8 && y >= 8 && x + wide <= innerWidth - 8 && y + high <= innerHeight - 8;
    const [x, y] = places.find(fits) || [box.right - wide - 16, box.bottom - high - 16];
    this.card.style.left = `${Math.min(Math.max(8, x), Math.max(8, innerWidth - wide - 8))}px`;
    this.card.style.top = `${Math.min(Math.max(8, y), Math.max(8, innerHeight - high - 8))}px`;
  }

  end() {
    this.card.hidden = true;
    document.querySelector(".toured")?.classList.remove("toured");
    try {
      localStorage.setItem(SEEN, "yes");
    } catch {
      // nothing is kept here; the tour says so to nobody
    }
    this.back?.focus?.({ preventScroll: true });
    this.back = undefined;
  }
}
