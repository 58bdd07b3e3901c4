// Runs once for a gr.HTML component whose value is {"light": figure, "dark": figure} as JSON, and draws it with Plotly.
// A row and a column keep their size in pixels, so that a node which stays in the tree stays where it is on the page.
const plot = element.querySelector(".plot");
const WIDEST_COLUMN = 112;

const frame = plot.parentElement;

function draw() {
  const width = frame.clientWidth;
  if (!window.Plotly || !props.value || !width) return;
  const dark = document.body.classList.contains("dark");
  const { data, layout } = JSON.parse(props.value)[dark ? "dark" : "light"];
  const { row, column, columns, rows } = layout.meta;
  const pitch = Math.min(Math.max(width / columns, column), WIDEST_COLUMN);
  const [left] = layout.xaxis.range;
  const top = layout.yaxis.range[1];
  layout.width = Math.max(width, Math.round(columns * pitch));
  layout.height = Math.max(frame.clientHeight, Math.round(rows * row));
  layout.xaxis.range = [left, left + layout.width / pitch];
  layout.yaxis.range = [top + layout.height / row, top];
  layout.autosize = false;
  window.Plotly.react(plot, data, layout, { displayModeBar: false, doubleClick: false });
  return { x: (x) => (x - left) * pitch, y: (y) => (y - top) * row, focus: layout.meta.focus };
}

// A new tree: scroll just far enough from the root that the end of the accepted path is in view.
function show() {
  const drawn = draw();
  if (!drawn) return;
  const [column, line] = drawn.focus || [0, 0];
  frame.scrollTo({
    left: Math.max(0, drawn.x(column) + 130 - frame.clientWidth),
    top: Math.max(0, drawn.y(line) + 50 - frame.clientHeight),
  });
}

watch("value", show);
new ResizeObserver(draw).observe(frame);
new MutationObserver(draw).observe(document.body, { attributeFilter: ["class"] });
show();
