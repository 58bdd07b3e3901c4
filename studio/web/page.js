// Runs once, when the last component of the page is there: joins the parts and listens to the reader.
const KEY = "recap-conversation"; // of this tab; a reload finds its conversation with it

const DRAFT = "recap-draft";
const NEEDED = [
  "tree", "ribbon", "step-slider", "stepping", "pacing", "where", "play", "weights", "throughput", "inspector", "numbers", "how",
];

const shown = () => {
  const race = $("right").dataset.view === "race" && track.throughput;
  draw("throughput", race ? track.throughput : player.throughput);
};
const player = new Player(server, lost, shown);
const track = new Track(player, shown);
const lab = new Lab(player);
const words = new Words();
const tour = new Tour(() => see("steps"));
let told = {};

// The tab's claim on its conversation, held as long as the page is open: see REMEMBERED_KEY. A lock's name must not begin with
// "-", as a key may.
const hold = (key) => navigator.locks?.request("recap " + key, { ifAvailable: true }, (lock) => lock && new Promise(() => {}));

function see(view) {
  const before = $("right").dataset.view;
  const changed = before !== view;
  $("right").dataset.view = view;
  for (const tab of document.querySelectorAll("#views [data-view]")) {
    const on = tab.dataset.view === view;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
  }
  if (!changed) return;
  if (before && innerWidth < 900) $("bar").scrollIntoView({ block: "start" });
  if (view === "memory") remember();
  if (view === "traces") list();
  if (view === "lab" && told.lab) lab.watch(told.key, told.lab);
  requestAnimationFrame(() => {
    player.tree.draw();
    player.resize();
    lab.draw();
  });
}

// What the server says of this page: its conversation, the trace on show, the race.
function hear() {
  let news;
  try {
    news = JSON.parse(props.value || "{}");
  } catch {
    return;
  }
  const before = told;
  told = news;
  if (news.key && news.key !== before.key) {
    sessionStorage.setItem(KEY, news.key);
    hold(news.key);
  }
  if (news.race && (news.race !== before.race || news.racing)) {
    if (news.racing && news.race !== before.race) see("race");
    track.watch(news.key, news.race);
  }
  if (before.racing && !news.racing) track.over();
  if (news.lab && (news.lab !== before.lab || news.measuring !== before.measuring)) lab.watch(news.key, news.lab);
  if (news.live) words.listen(news.key);
  else painted().then(() => told.live || words.done()); // when gradio's copy is there
  const other = news.id !== before.id;
  const begins = news.live && !before.live;
  if (begins || (other && before.key && news.kind === "file")) see("steps");
  const watching = player.id === news.id; // and not something else that the reader has opened meanwhile
  if (other || begins || ((news.live || before.live) && watching)) player.open(news.id, news.live);
  if (news.traces !== before.traces && $("right").dataset.view === "traces") list();
  const learnt = news.remembered !== before.remembered || (!news.live && before.live);
  if (learnt && $("right").dataset.view === "memory") remember();
}

let gone = false;
let kept = null; // what was typed before the page is opened anew by itself
function lost(now) {
  if (now === gone) return;
  gone = now;
  if (now) retry();
  else $("lost").hidden = true;
}

// A server that was away and has come back knows nothing of this page, so the page is opened again. Where there are several, the
// others say 410 in place of one that has ended.
async function retry() {
  let away = false;
  while (gone) {
    const found = await fetch("config", { cache: "no-store", signal: AbortSignal.timeout(5000) }).catch(() => null);
    if (found?.status === 410 || (found?.ok && away)) return location.reload();
    if (found?.ok) return lost(false);
    away = true;
    $("lost").hidden = false;
    await pause(2000);
  }
}

// A page that waited for nothing has noticed nothing: whenever its reader does something, whether the server is still its own.
async function still() {
  const mine = window.gradio_config?.app_id;
  const draft = $("prompt").querySelector("textarea").value; // before it is taken for asked
  const anew = () => {
    kept = draft;
    location.reload();
  };
  try {
    const found = await fetch("gradio_api/app_id", { cache: "no-store" });
    if (found.status === 410 || (found.ok && mine && (await found.json()).app_id !== mine)) anew();
  } catch {
    // no server at all: the views find out, and say so
  }
}

const remember = latest(async () => {
  const { id, step, node } = player;
  const view = await player.call("memory", { key: told.key, id, step, node: node ?? 0, theme: theme() });
  if (!view) return;
  fill("memory-hits", view.hits);
  fill("memory-found", view.found);
  draw("memory-growth", view.growth);
});

const list = latest(async () => {
  const view = await player.call("traces", { key: told.key, id: player.id });
  if (view) fill("trace-list", view.list);
});

// Which words need the picture: the server reads the answer again without it, which takes some passes.
async function look(button) {
  const { id } = player;
  const { key } = told;
  button.disabled = true;
  button.textContent = "Looking without the picture …";
  for (let begin = true; ; begin = false) {
    const found = await player.call("lens", { key, id, begin });
    if (found && !found.ended) {
      await pause(400);
      continue;
    }
    if (player.id !== id) return;
    if (!found) {
      button.disabled = false;
      button.textContent = "Look again";
      return;
    }
    player.ribbon = 0; // every token may have a mark now
    return player.look();
  }
}

async function save() {
  const file = player.id && (await player.call("saved", { id: player.id }));
  if (file) download(file, "application/json");
}

function panel(open) {
  $("settings").dataset.open = open;
  $("open-settings").setAttribute("aria-expanded", open);
  if (open) $("settings").querySelector("input, button, select")?.focus();
}

function press({ target }) {
  const at = (selector) => target.closest(selector);
  if (at("#left button, #race, #lab button")) still();
  const token = at("#ribbon .token");
  if (token) player.go(Number(token.dataset.step), Number(token.dataset.node));
  else if (at("#previous")) player.go((player.at ?? 0) - 1);
  else if (at("#next")) player.go((player.at ?? 0) + 1);
  else if (at("#play")) player.play();
  else if (at("#speed")) player.faster();
  else if (at("#follow")) player.follow();
  else if (at("#views [data-view]")) see(at("#views [data-view]").dataset.view);
  else if (at("#tree .toggle")) {
    player.readable = !player.readable;
    player.turn(player.at, true, true);
  } else if (at("#tree .nearer")) player.tree.resize(ZOOM.step);
  else if (at("#tree .farther")) player.tree.resize(1 / ZOOM.step);
  else if (at("#origin .look")) look(at("#origin .look"));
  else if (at("#clear")) player.open(null, false); // what the server says may be what it said before
  else if (at("#trace-download")) save();
  else if (at("#lab-save [data-kind]")) lab.save(at("[data-kind]").dataset.kind);
  else if (at("#trace-list [data-trace]")) {
    see("steps");
    const { trace } = at("[data-trace]").dataset;
    player.open(trace, Boolean(told.live) && trace === told.id);
  } else if (at("#how")) tour.show(0);
  else if (at("#open-settings")) panel($("settings").dataset.open !== "true");
  else if (at("#close-settings")) panel(false);
  else if ($("settings").dataset.open === "true" && !at("#settings") && !at(".options")) panel(false);
}

function key(event) {
  const { key, target } = event;
  if (key === "Enter" && target.closest("#prompt")) still();
  if (key === "Escape") {
    if (!tour.card.hidden) tour.end();
    else panel(false);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest("input, textarea, select, [contenteditable], [role=listbox]")) return;
  const tab = target.closest("#views [data-view]");
  const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (tab && by) {
    const tabs = [...document.querySelectorAll("#views [data-view]")];
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    see(next.dataset.view);
    next.focus();
  } else if (!tour.card.hidden || target.closest("#left, #settings") || $("right").dataset.view !== "steps") return;
  else if (by) player.go((player.at ?? 0) + by);
  else if (key === "Home") player.go(0);
  else if (key === "End") player.go(player.whole.passes - 1);
  else if (key === " " && !target.closest("button")) player.play();
  else if ((key === "ArrowUp" || key === "ArrowDown") && target.closest("#tree")) neighbour(key === "ArrowDown" ? 1 : -1);
  else return;
  event.preventDefault();
}

// From the tree by keyboard: the next node as it is drawn.
function neighbour(by) {
  const node = player.tree.beside(by);
  if (node !== undefined) player.choose(node);
}

// A question that was typed and not asked survives the page.
function keepDraft() {
  const box = $("prompt").querySelector("textarea");
  const draft = sessionStorage.getItem(DRAFT);
  if (draft && !box.value) {
    box.value = draft;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
  addEventListener("pagehide", () => sessionStorage.setItem(DRAFT, kept ?? box.value));
}

async function start() {
  const there = (id) => $(id)?.firstElementChild || $(id)?.tagName === "BUTTON";
  while (!NEEDED.every(there) || !window.Plotly) await pause(30);
  player.tree = new Tree($("tree").querySelector(".frame"), (node) => player.choose(node));
  $("step-slider").querySelector("input").addEventListener("input", ({ target }) => player.go(target.value - 1));
  document.addEventListener("click", press);
  document.addEventListener("keydown", key);
  document.addEventListener("recap:node", () => $("right").dataset.view === "memory" && remember());
  document.addEventListener("visibilitychange", () => document.hidden || player.look());
  new MutationObserver(() => player.redraw()).observe(document.body, { attributeFilter: ["class"] });
  new ResizeObserver(() => player.resize()).observe($("throughput"));
  player.face();
  see("steps");
  keepDraft();
  watch("value", hear);
  hear();
  if (!tour.seen) $("how").querySelector("button, .room")?.classList.add("inviting");
}

start();
