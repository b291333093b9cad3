// The live page: asks the API for everything, and gives each part its answer.
import { keepAges, showAges } from "./ages.js";
import { NotThere, TokenWanted, get, hasToken, rows, useToken } from "./api.js";
import { listen, showBoard } from "./board.js";
import { by, text } from "./dom.js";
import { comparison, showLayers, watch } from "./layers.js";
import { showLog } from "./log.js";
import { board, charted, freshest, shownTime, within } from "./model.js";
import { poll } from "./polling.js";
import { keepStarting, showStarting } from "./starting.js";
import { showVerdicts } from "./verdicts.js";
import { period, second } from "./words.js";

const VERDICTS = 8;
const NO_EVENTS = "No event has come into this lake yet.";
const refused = new Map(); // what was not there, and at which log version: it is asked again when that has moved

async function ifThere(known, version, ask) {
  if (refused.get(known) === version) return null;
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof NotThere)) throw error;
    refused.set(known, version);
    return null;
  }
}

async function look() {
  keepStarting(await get("/starting"));
  const [pipeline, standing, { reconciliations }] = await Promise.all([
    get("/pipeline"), get("/results"), get("/reconciliations", { limit: VERDICTS }),
  ]);
  const shown = charted(pipeline, standing.results);
  const found = freshest(standing.results, shown.result);
  by("token-form").hidden = true;
  by("parts").hidden = false;
  keepAges(found);
  showLog(standing.log, found);
  showVerdicts(reconciliations);
  text(by("story"), `${pipeline.name}: ${pipeline.story}`);
  const drawn = await latest(shown, standing.log);
  showBoard(shown, drawn, drawn.missing);
  showLayers(drawn.layers, drawn.missing);
}

// The last stretch of event time of what is charted, as each layer that has it says.
async function latest(shown, log) {
  const { result, layers: standing, others } = shown;
  if (log.high_water === null) return { missing: NO_EVENTS };
  if (!standing.kappa && !standing.batch) return { missing: `Neither the stream nor batch has computed ${result} yet.` };
  const time = shownTime(Date.parse(log.high_water), shown.size);
  const from = new Date(time.asked).toISOString();
  const ask = (name, of, layer) =>
    of[layer] && ifThere(`${name} ${layer}`, of[layer].log_version, () => rows(name, { layer, from }));
  const both = standing.kappa && standing.batch;
  const [kappa, batch, legacy, merged, ...beside] = await Promise.all([
    ask(result, standing, "kappa"), ask(result, standing, "batch"), ask(result, standing, "legacy"),
    both ? ifThere(`${result} lambda`, standing.batch.log_version, () => get(`/results/${encodeURIComponent(result)}`, { layer: "lambda", from, limit: 1 })) : null,
    ...others.map(({ name, layers }) => ask(name, layers, "kappa")),
  ]);
  const answers = { kappa: within(kappa, time), batch: within(batch, time), legacy: within(legacy, time) };
  const layers = await comparison(shown, answers, time, merged?.cut_off);
  if (!kappa) return { layers, missing: `The stream has not computed ${result} yet.` };
  const found = board(shown, kappa.rows, beside.map((each) => each?.rows ?? []), time);
  return { layers, time, board: found, missing: `The stream has no row of ${result} in the last ${period(time.span)} of event time.` };
}

function say(state, words, more) {
  by("connection").dataset.state = state;
  text(by("state"), words);
  text(by("updated"), more);
  by("again").hidden = state !== "silent";
}

let answered = null;
const turn = poll(look, {
  succeeded() {
    answered = Date.now();
    text(by("token-wrong"), "");
    say("live", "Live", `answered ${second(answered)}`);
  },
  failed(error, wait) {
    if (error instanceof TokenWanted) {
      askForToken();
      return false;
    }
    const last = answered === null ? "" : `last answer ${second(answered)}, `;
    const silent = error instanceof TypeError || error.name === "TimeoutError";
    if (!silent) console.warn(error);
    say("silent", silent ? "The server does not answer." : error.message, `${last}next try in ${wait / 1000} s`);
    return true;
  },
});

function askForToken() {
  say("waiting", "A token is needed", "");
  by("parts").hidden = true;
  by("token-form").hidden = false;
  text(by("token-wrong"), hasToken() ? "The server did not take this token." : "");
  useToken(null);
  by("token").focus();
}

by("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(by("token").value.trim());
  by("token").value = "";
  turn();
});
by("again").addEventListener("click", turn);
setInterval(() => {
  if (document.hidden) return;
  showAges();
  showStarting();
}, 1000);
listen();
watch();
