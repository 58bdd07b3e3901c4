// gradio's loader counts seconds frame by frame and does not stop when it leaves the page: the browser would draw 60
// frames a second for as long as the page is open. Whatever asked for frames while the page was loading, and still does
// so long after, is let go.
(() => {
  const GRACE = 2000; // milliseconds
  const next = window.requestAnimationFrame.bind(window);
  let arrived = null; // when the page was there
  let within = false; // a callback that belongs to loading is running
  window.requestAnimationFrame = (callback) => {
    if (arrived === null && document.getElementById("player")) arrived = performance.now();
    if (arrived !== null && !within) return next(callback);
    if (arrived !== null && performance.now() - arrived > GRACE) return 0;
    return next((now) => {
      within = true;
      try {
        callback(now);
      } finally {
        within = false;
      }
    });
  };
})();
