// The words of an answer while it is being written. They stand beside gradio's own copy of the message, which is out of
// sight until the answer has ended.
class Words {
  listen(key) {
    if (this.source) return;
    this.source = new EventSource(`words?key=${encodeURIComponent(key)}`);
    this.source.onmessage = ({ data }) => this.say(JSON.parse(data));
    this.source.addEventListener("end", () => this.close());
    this.source.onerror = () => this.close(); // gradio goes on with what was missed
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

  close() {
    this.source?.close();
    this.source = null;
  }

  // The message is whole: back to gradio's copy.
  done() {
    this.close();
    if (!this.shown) return;
    if (this.shown.previousElementSibling) this.shown.previousElementSibling.hidden = false;
    this.shown.remove();
    this.shown = null;
  }
}
