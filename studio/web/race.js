// A race while it is run: both lanes as the server tells them, several times a second, until it has ended.
const RACE = 120; // milliseconds between two looks

class Track {
  constructor(player, drawn) {
    this.player = player;
    this.drawn = drawn; // called when there is a new picture of tokens over own time
    this.id = null;
    this.watch = latest((key, id) => this.run(key, id));
  }

  async run(key, id) {
    this.id = id;
    for (;;) {
      const began = performance.now();
      const race = await this.player.call("contest", { key, id, theme: theme() });
      if (this.id !== id || !race) return;
      race.lanes.forEach((lane, at) => {
        fill(`lane-${at}-numbers`, lane.numbers);
        fill(`lane-${at}-text`, lane.text);
        const words = room(`lane-${at}-text`);
        if (!race.ended) words.scrollTop = words.scrollHeight;
      });
      fill("result", race.result);
      fill("exact-badge", race.badge);
      this.throughput = race.throughput;
      this.drawn();
      if (race.ended) return;
      await pause(Math.max(20, RACE - (performance.now() - began)));
    }
  }
}
