// The live page: asks the API for everything, and gives each part its answer.
import { keepAges, showAges } from "./ages.js";
import { NotThere, TokenWanted, get, hasToken, rows, useToken } from "./api.js";
import { by, text } from "./dom.js";
import { comparison, showLayers, watch } from "./layers.js";
import { showLog } from "./log.js";
import { freshest, hourOf, leaderboard, windowOf, within } from "./model.js";
import { poll } from "./polling.js";
import { keepStarting, showStarting } from "./starting.js";
import { listen, showTeams } from "./teams.js";
import { showVerdicts } from "./verdicts.js";
import { second } from "./words.js";

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
  const [standing, { reconciliations }] = await Promise.all([get("/results"), get("/reconciliations", { limit: VERDICTS })]);
  const found = freshest(standing.results, "team_scores");
  by("token-form").hidden = true;
  by("parts").hidden = false;
  keepAges(found);
  showLog(standing.log, found);
  showVerdicts(reconciliations);
  const drawn = await game(standing);
  showTeams(drawn.board, drawn.missing);
  showLayers(drawn.layers, drawn.missing);
}

// What the teams did in the last hour of event time, as each layer that has it says.
async function game({ log, results }) {
  const scores = results.find((each) => each.name === "team_scores");
  const ups = results.find((each) => each.name === "level_ups");
  if (log.high_water === null) return { missing: NO_EVENTS };
  if (!scores?.layers.kappa && !scores?.layers.batch) return { missing: "Neither the stream nor batch has computed team_scores yet." };
  const hour = hourOf(Date.parse(log.high_water), windowOf(scores));
  const from = new Date(hour.asked).toISOString();
  const ask = ({ name, layers }, layer) =>
    layers[layer] && ifThere(`${name} ${layer}`, layers[layer].log_version, () => rows(name, { layer, from }));
  const both = scores.layers.kappa && scores.layers.batch;
  const [kappa, batch, legacy, levelUps, merged] = await Promise.all([
    ask(scores, "kappa"), ask(scores, "batch"), ask(scores, "legacy"),
    ups ? ask(ups, "kappa") : null,
    both ? ifThere("cut-off", scores.layers.batch.log_version, () => get("/results/team_scores", { layer: "lambda", from, limit: 1 })) : null,
  ]);
  const answers = { kappa: within(kappa, hour), batch: within(batch, hour), legacy: within(legacy, hour) };
  const layers = await comparison(answers, scores.layers, hour, merged?.cut_off);
  if (!kappa) return { layers, missing: "The stream has not computed team_scores yet." };
  const board = leaderboard(kappa.rows, levelUps?.rows ?? [], hour);
  return { layers, board, missing: "No team has scored in the last hour of event time." };
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
