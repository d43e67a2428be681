// A complete partner application in one file. It needs only Node 20 or newer.
//
// It verifies webhooks, stores the licenses in them, and connects buyers: they return from the
// marketplace with a code, which it exchanges for their license. Start it beside
// `claviger dev`, which prints the values:
//
//     export MARKET_URL=… CLIENT_ID=… CLIENT_SECRET=… WEBHOOK_SECRET=…
//     REDIRECT_URL=http://127.0.0.1:3000/callback DATABASE=licenses.json PORT=3000 node app.mjs
//
// Your application already has accounts and a database: use them instead of the store and the
// cookie.
import { Buffer } from "node:buffer";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { createServer } from "node:http";

const [MARKET, CLIENT_ID, CLIENT_SECRET, WEBHOOK_SECRET, REDIRECT_URL, DATABASE, PORT] = [
  "MARKET_URL", "CLIENT_ID", "CLIENT_SECRET", "WEBHOOK_SECRET", "REDIRECT_URL", "DATABASE", "PORT",
].map((name) => {
  if (!process.env[name]) throw new Error(`set ${name} in the environment; the beginning of this file says how`);
  return process.env[name];
});

// The store has the state of each license, and its account. It is a file that is rewritten
// before a webhook is answered; Node runs one change at a time.
const licenses = new Map(Object.entries(existsSync(DATABASE) ? JSON.parse(readFileSync(DATABASE, "utf8")) : {}));

function save(key, license) {
  const next = new Map(licenses).set(key, license);
  const file = openSync(DATABASE + ".new", "w", 0o600);
  try {
    writeSync(file, JSON.stringify(Object.fromEntries(next)));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(DATABASE + ".new", DATABASE);
  licenses.set(key, license);
}

// apply applies an event. An event that is not newer than the stored state changes nothing, so
// events may come twice and in any order. A license that its buyer gave up, or lost to
// another one, belongs to no account until it is connected again.
function apply(event) {
  const old = licenses.get(event.license_key);
  if (old && event.event_id <= old.event_id) return;
  const ends = ["released", "transferred", "user_erased"].includes(event.reason);
  save(event.license_key, { status: event.license_status, tier: event.tier, event_id: event.event_id, account: ends ? null : (old?.account ?? null) });
}

// connectLicense connects a license with an account. Its webhook has usually arrived before;
// if not, the marketplace's answer is used until it arrives.
function connectLicense(account, license) {
  const known = licenses.get(license.license_key) ?? { status: license.status, tier: license.tier, event_id: 0 };
  save(license.license_key, { ...known, account });
}

// best returns the account's license with the most rights.
function best(account) {
  const own = [...licenses].map(([key, l]) => ({ key, ...l })).filter((l) => account && l.account === account);
  return own.sort((a, b) => (b.status === "active") - (a.status === "active") || b.tier - a.tier)[0];
}

export function verifyWebhook(secret, headers, body, now = Date.now()) {
  const text = secret.startsWith("whsec_") ? secret.slice(6) : null; // where the API key is the secret, its text is the key
  const key = text === null ? Buffer.from(secret) : Buffer.from(text, "base64");
  if (key.length === 0 || (text !== null && key.toString("base64") !== text)) {
    throw new TypeError("claviger: the webhook secret is empty or damaged; set it as it was shown to you, whsec_ included");
  }
  const header = (name) => (typeof headers?.get === "function" ? headers.get(name) : headers?.[name]);
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(header);
  if (![id, timestamp, signatures].every((v) => typeof v === "string") || !(body instanceof Uint8Array)) return false;
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > 5 * 60) return false;
  const want = Buffer.from("v1," + createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64"));
  return signatures.split(" ").some((one) => {
    const got = Buffer.from(one);
    return got.length === want.length && timingSafeEqual(got, want);
  });
}

// licenseOf exchanges a code for tokens, and a token for the license that the buyer connects.
async function licenseOf(code) {
  const ask = async (path, options) => {
    const answer = await fetch(MARKET + path, { ...options, signal: AbortSignal.timeout(10_000) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  const form = { grant_type: "authorization_code", code, redirect_uri: REDIRECT_URL, client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const tokens = await ask("/openid/token/", { method: "POST", body: new URLSearchParams(form) });
  return ask("/openid/license_key/", { headers: { Authorization: `Bearer ${tokens.access_token}` } });
}

async function webhook(req, res) {
  const answer = (status, success) => res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify({ success }));
  const parts = [];
  let size = 0;
  for await (const part of req) {
    if ((size += part.length) > 65536) return answer(413, false);
    parts.push(part);
  }
  const body = Buffer.concat(parts);
  if (!verifyWebhook(WEBHOOK_SECRET, req.headers, body)) return answer(401, false);
  const event = JSON.parse(body);
  if (!event.test) apply(event);
  answer(200, true);
}

const escape = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function page(res, status, text, link) {
  const more = link ? `<p><a href="${link}">Connect a license</a></p>` : "";
  res.writeHead(status, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" });
  res.end(`<!doctype html><html lang="en"><title>Sample application</title><h1>Sample application</h1><p>${escape(text)}</p>${more}`);
}

function redirect(res, to, cookie) {
  const secure = REDIRECT_URL.startsWith("https:") ? "; Secure" : "";
  res.writeHead(303, { Location: to, "Set-Cookie": `${cookie}; Path=/; HttpOnly; SameSite=Lax${secure}`, "Cache-Control": "no-store" }).end();
}

const cookie = (req, name) => new RegExp(`(?:^|; )${name}=([0-9a-f]{32})(?:;|$)`).exec(req.headers.cookie ?? "")?.[1] ?? "";

function home(req, res) {
  const found = best(cookie(req, "account"));
  if (!found) return page(res, 200, "No license is connected.", "/connect");
  const gives = found.status === "active" ? `you have what tier ${found.tier} promises.` : "it gives you nothing now.";
  page(res, 200, `License ${found.key} is ${found.status}: ${gives}`);
}

// connect starts the connection for buyers who begin here, not with Activate at the
// marketplace.
function connect(req, res) {
  const state = randomBytes(16).toString("hex");
  const query = new URLSearchParams({ response_type: "code", client_id: CLIENT_ID, redirect_uri: REDIRECT_URL, scope: "openid", state });
  redirect(res, `${MARKET}/openid/authorize?${query}`, `state=${state}`);
}

// callback handles returning buyers. A state must belong to this browser; without one they
// began at the marketplace.
async function callback(req, res, query) {
  const code = query.get("code");
  if (!code) return page(res, 200, query.has("error") ? "You did not connect a license." : "The marketplace sends buyers here.", "/connect");
  if (query.has("state") && query.get("state") !== cookie(req, "state")) return page(res, 400, "This answer is not for this browser. Begin again.", "/connect");
  let license;
  try {
    license = await licenseOf(code);
  } catch (err) {
    console.error("the code was not exchanged:", err);
    return page(res, 400, "The license could not be connected. Begin again.", "/connect");
  }
  const account = cookie(req, "account") || randomBytes(16).toString("hex");
  connectLicense(account, license);
  redirect(res, "/", `account=${account}`);
}

const routes = { "POST /webhook": webhook, "GET /": home, "GET /connect": connect, "GET /callback": callback };

verifyWebhook(WEBHOOK_SECRET, {}, Buffer.alloc(0)); // a damaged secret is found now
createServer(async (req, res) => {
  const url = new URL(req.url, "http://application");
  try {
    const handler = routes[`${req.method} ${url.pathname}`];
    if (!handler) return page(res, 404, "There is no such page.");
    await handler(req, res, url.searchParams);
  } catch (err) { // an event that is not stored is sent again
    console.error(err);
    if (!res.headersSent) page(res, 500, "Something failed.");
  }
}).listen(Number(PORT), "127.0.0.1");
