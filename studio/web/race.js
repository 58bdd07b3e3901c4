// A race while it is run: both lanes as the server tells them, several times a second, until it has ended.
const RACE = 50; // least milliseconds between two looks
const CHART = 400; // and between two drawings of tokens over own time

class Track {
  constructor(player, drawn) {
    this.player = player;
    this.drawn = drawn; // called when there is a new picture of tokens over own time
    this.id = null;
    this.over = () => {}; // to be called when the race has ended: whoever rests between two looks need not
    this.watch = latest((key, id) => this.run(key, id));
  }

  async run(key, id) {
    this.id = id;
    let charted = 0;
    for (;;) {
      const began = performance.now();
      const whole = began - charted >= CHART;
      const wish = { key, id, theme: theme(), whole };
      const race = await insist(() => this.player.call("contest", wish), () => this.id === id);
      if (this.id !== id || !race) return;
      race.lanes.forEach((lane, at) => {
        fill(`lane-${at}-numbers`, lane.numbers);
        fill(`lane-${at}-text`, lane.text);
        const words = room(`lane-${at}-text`);
        if (!race.ended) words.scrollTop = words.scrollHeight;
      });
      fill("race-words", race.asked);
      fill("result", race.result);
      fill("exact-badge", race.badge);
      if (race.throughput) {
        charted = began;
        this.throughput = race.throughput;
        this.drawn();
      }
      if (race.ended) return;
      const rested = new Promise((done) => (this.over = done));
      await Promise.race([pause(Math.max(RACE, 2 * (performance.now() - began))), rested]);
    }
  }
}
