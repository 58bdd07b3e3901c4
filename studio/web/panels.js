// Small helpers: finding parts of the page, filling them, and the little plots that fit their boxes.
const $ = (id) => document.getElementById(id);
const room = (id) => $(id)?.querySelector(".room");
const dark = () => document.body.classList.contains("dark");
const theme = () => (dark() ? "dark" : "light");

// HTML from the server, where every text of a person or a model is escaped. What is the same already is not touched.
function fill(id, html) {
  const place = room(id);
  if (!place || place.html === html) return;
  place.html = html;
  place.innerHTML = html;
}

function draw(id, spec) {
  const place = room(id)?.querySelector(".plot") || room(id);
  if (!place || !spec || !window.Plotly || !place.clientWidth) return;
  const layout = { ...spec.layout, width: place.clientWidth, height: place.clientHeight, autosize: false };
  window.Plotly.react(place, spec.data, layout, { displayModeBar: false, doubleClick: false });
}

// One request at a time: while one is under way only the latest wish is kept, so that nothing piles up.
function latest(work) {
  let busy = false;
  let next;
  return async function ask(...wish) {
    if (busy) {
      next = wish;
      return;
    }
    busy = true;
    try {
      await work(...wish);
    } finally {
      busy = false;
      const waiting = next;
      next = undefined;
      if (waiting) ask(...waiting);
    }
  };
}

// Asks again, a second apart, where a look failed: a connection may come back. Gives up when nobody wants it any more.
async function insist(ask, wanted) {
  for (let left = 10; ; left--) {
    const found = await ask();
    if (found || !left || !wanted()) return found;
    await pause(1000);
  }
}

// Text as a file of the reader's.
function download({ text, name }, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
