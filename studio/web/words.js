// The words of an answer while it is being written. They stand beside gradio's own copy of the message, which is out of
// sight until the answer has ended.
class Words {
  listen(key) {
    if (this.source) return;
    const address = new URL(`words?key=${encodeURIComponent(key)}`, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const source = (this.source = new WebSocket(address));
    source.onmessage = ({ data }) => this.source === source && this.say(JSON.parse(data));
    source.onclose = ({ code }) => {
      if (this.source !== source) return;
      this.source = null;
      if (code !== 1000) this.done(); // gradio goes on with what was missed
    };
  }

  say({ at, html }) {
    const written = [...document.querySelectorAll("#chat .bot.message .message-content")][at]?.querySelector(".md");
    if (!written) return;
    if (this.shown?.previousElementSibling !== written) {
      this.shown?.remove();
      this.shown = written.cloneNode(false);
      this.shown.hidden = false;
      written.after(this.shown);
      written.hidden = true;
    }
    const log = written.closest("[role=log]");
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    this.shown.innerHTML = html;
    if (atEnd) log.scrollTop = log.scrollHeight;
  }

  // Back to gradio's copy: the message is whole, or nothing more comes this way.
  done() {
    const source = this.source;
    this.source = null;
    if (source?.readyState === WebSocket.CONNECTING) source.onopen = () => source.close(); // the console would complain
    else source?.close();
    if (!this.shown) return;
    if (this.shown.previousElementSibling) this.shown.previousElementSibling.hidden = false;
    this.shown.remove();
    this.shown = null;
  }
}
