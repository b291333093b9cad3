// Asks again and again: every two seconds, not while nobody looks, less and less often while nobody answers.
const EVERY = 2000;
const LONGEST = 30_000;

export function poll(look, { succeeded, failed }) {
  let timer = null;
  let running = false;
  let failures = 0;

  async function turn() {
    clearTimeout(timer);
    if (running || document.hidden) return;
    running = true;
    let wait = EVERY;
    try {
      await look();
      failures = 0;
      succeeded();
    } catch (error) {
      failures += 1;
      wait = Math.min(EVERY * 2 ** failures, LONGEST);
      if (failed(error, wait) === false) wait = null;
    }
    running = false;
    if (wait !== null) timer = setTimeout(turn, wait);
  }

  document.addEventListener("visibilitychange", turn);
  window.addEventListener("online", turn);
  turn();
  return turn;
}
