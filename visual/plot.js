// Runs once for a gr.HTML component whose value is {"light": figure, "dark": figure} as JSON, and draws it with Plotly.
// A row and a column keep their size in pixels, so that a node which stays in the tree stays where it is on the page.
// Only a tree far too tall for the frame is pressed into it, without the refused tokens' names, until the reader asks.
const frame = element.querySelector(".frame");
const plot = element.querySelector(".plot");
const toggle = element.querySelector(".toggle");
const WIDEST_COLUMN = 112;
const LEAST_ROW = 10;
const ABOVE = 40; // room above the root of a pressed tree, pixels
let pressed = true;

function draw() {
  const width = frame.clientWidth;
  if (!window.Plotly || !props.value || !width) return;
  const dark = document.body.classList.contains("dark");
  const { data, layout } = JSON.parse(props.value)[dark ? "dark" : "light"];
  const { row, column, columns, rows, focus } = layout.meta;
  const tall = rows * row > frame.clientHeight * 1.15;
  const pitch = { x: Math.min(Math.max(width / columns, column), WIDEST_COLUMN), y: row };
  let top = layout.yaxis.range[1];
  if (tall && pressed) {
    pitch.y = Math.max((frame.clientHeight - ABOVE) / (rows + top), LEAST_ROW);
    top = -ABOVE / pitch.y;
    press(data, layout, pitch.y);
  }
  toggle.hidden = !tall;
  toggle.textContent = pressed ? "Read every token" : "See the whole tree";
  const [left] = layout.xaxis.range;
  const bottom = layout.meta.rows + layout.yaxis.range[1];
  layout.width = Math.max(width, Math.round(columns * pitch.x));
  layout.height = Math.max(frame.clientHeight, Math.floor((bottom - top) * pitch.y));
  layout.xaxis.range = [left, left + layout.width / pitch.x];
  layout.yaxis.range = [top + layout.height / pitch.y, top];
  layout.autosize = false;
  window.Plotly.react(plot, data, layout, { displayModeBar: false, doubleClick: false });
  if (!plot.dataset.listening) plot.on("plotly_hover", () => requestAnimationFrame(keepInView));
  plot.dataset.listening = "yes";
  const [x, y] = focus || [0, 0];
  return { x: (x - left) * pitch.x, y: (y - top) * pitch.y };
}

function press(data, layout, height) {
  for (const words of layout.annotations || []) words.text = words.text.replace("the model said<br>", "");
  for (const trace of data) {
    if (trace.name === "refused tokens") trace.visible = false;
    if (trace.name === "accepted tokens") trace.y = trace.y.map((y) => Math.round(y) - 9 / height);
    if (trace.name !== "refused") continue;
    trace.mode = "markers";
    trace.marker.size = trace.marker.size.map((size) => Math.min(size, height * 0.8));
  }
}

// Plotly knows the width of the whole tree, not how much of it the frame shows: what a node tells is moved into view.
function keepInView() {
  const layer = plot.querySelector(".hoverlayer");
  layer.style.transform = "";
  const [box, view] = [layer, frame].map((it) => it.getBoundingClientRect());
  const shift = (low, high, from, to) => Math.max(from + 4 - low, Math.min(0, to - 4 - high));
  const x = shift(box.left, box.right, view.left, view.left + frame.clientWidth);
  const y = shift(box.top, box.bottom, view.top, view.top + frame.clientHeight);
  if (box.width) layer.style.transform = `translate(${x}px, ${y}px)`;
}

// A new tree: scroll just far enough from the root that the end of the accepted path is in view.
function show() {
  const end = draw();
  if (end) frame.scrollTo({ left: Math.max(0, end.x + 130 - frame.clientWidth), top: Math.max(0, end.y + 50 - frame.clientHeight) });
}

toggle.addEventListener("click", () => {
  pressed = !pressed;
  show();
});
watch("value", show);
new ResizeObserver(draw).observe(frame);
new MutationObserver(draw).observe(document.body, { attributeFilter: ["class"] });
show();
