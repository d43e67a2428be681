// Against a server that answers as it is told.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { ClavigerError, OperatorClient, PartnerClient } from "claviger-client";

let server, url, requests, answers;

before(async () => {
  server = createServer((req, res) => {
    const parts = [];
    req.on("data", (part) => parts.push(part)).on("end", () => {
      requests.push({ method: req.method, url: req.url, headers: req.headers, body: Buffer.concat(parts).toString() });
      const { status = 200, headers = {}, body = {} } = answers.shift() ?? { status: 500 };
      res.writeHead(status, { "Content-Type": "application/json", ...headers }).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

const client = (...list) => {
  requests = [];
  answers = list;
  return new PartnerClient({ url: url + "/", key: "lk_1" });
};
const refused = { status: 429, headers: { "Retry-After": "0" }, body: { error: "rate_limited", message: "Wait.", request_id: "r1" } };

test("sends the key, the path and the query", async () => {
  const c = client({ body: { size: 0, items: [] } }, { body: { license_key: "a/b" } });
  assert.deepEqual(await c.call("GET /v2/licenses", { query: { status: "active", limit: 2, order: undefined } }), { size: 0, items: [] });
  await c.call("GET /v2/licenses/{license_key}", { path: { license_key: "a/b?" } });
  assert.deepEqual(requests.map((r) => [r.method, r.url, r.headers.authorization]), [
    ["GET", "/v2/licenses?status=active&limit=2", "Bearer lk_1"],
    ["GET", "/v2/licenses/a%2Fb%3F", "Bearer lk_1"],
  ]);
});

test("sends JSON and an idempotency key, and reads texts and nothing", async () => {
  const c = client({ status: 201, body: { contact_id: 7 } }, { headers: { "Content-Type": "text/plain" }, body: "Contact deleted" }, { status: 204, body: "" });
  assert.equal((await c.call("POST /v2/profile/contact", { body: { email: "a@b.example", name: "é" }, idempotencyKey: "k" })).contact_id, 7);
  assert.equal(await c.call("DELETE /v2/profile/contact/{contact_id}", { path: { contact_id: 7 } }), "Contact deleted");
  assert.equal(await c.call("DELETE /v2/credentials/{id}", { path: { id: 1 } }), undefined);
  assert.equal(requests[0].body, '{"email":"a@b.example","name":"é"}');
  assert.equal(requests[0].headers["idempotency-key"], "k");
  assert.equal(requests[0].headers["content-type"], "application/json");
  answers = [{}];
  await new OperatorClient({ url, key: "t" }).call("POST /operator/v1/import", { body: "license_key,tier\n", contentType: "text/csv", query: { dry_run: "true" } });
  assert.deepEqual([requests[3].url, requests[3].headers["content-type"], requests[3].body], ["/operator/v1/import?dry_run=true", "text/csv", "license_key,tier\n"]);
});

test("reads a list to its end, and never sends the key to another host", async () => {
  const next = '<https://elsewhere.example/v2/licenses?page=1>; rel="first", <https://elsewhere.example/v2/licenses?page=2&limit=1>; rel="next"';
  const c = client({ headers: { Link: next }, body: { size: 1, items: [{ tier: 1 }] } }, { body: { size: 1, items: [{ tier: 2 }] } });
  const tiers = [];
  for await (const license of c.list("GET /v2/licenses", { query: { limit: 1 } })) tiers.push(license.tier);
  assert.deepEqual(tiers, [1, 2]);
  assert.deepEqual(requests.map((r) => r.url), ["/v2/licenses?limit=1", "/v2/licenses?page=2&limit=1"]);
});

test("repeats what is safe to repeat", async () => {
  const c = client(refused, { ...refused, status: 503 }, { body: { size: 0, items: [] } });
  await c.call("GET /v2/licenses");
  assert.equal(requests.length, 3);
  for (const [input, sent] of [[{}, 1], [{ idempotencyKey: "k" }, 3]]) {
    const again = client(refused, refused, refused, refused);
    await assert.rejects(again.call("POST /v2/profile/contact", { body: { email: "", name: "" }, ...input }), (err) => {
      assert.ok(err instanceof ClavigerError && err instanceof Error);
      assert.deepEqual([err.status, err.code, err.message, err.requestId], [429, "rate_limited", "Wait.", "r1"]);
      return true;
    });
    assert.equal(requests.length, sent);
  }
  const long = client({ ...refused, headers: { "Retry-After": "3600" } });
  await assert.rejects(long.call("GET /v2/licenses"), { status: 429 });
});

test("says what was wrong", async () => {
  await assert.rejects(client({ status: 502, headers: { "Content-Type": "text/html" }, body: "<h1>Bad gateway" }).call("GET /v2/profile"), { status: 502, code: "", message: "The service answered 502." });
  await assert.rejects(client({ status: 302, headers: { Location: "https://elsewhere.example/" } }).call("GET /v2/profile"), TypeError);
  await assert.rejects(client().call("GET /v2/licenses/{license_key}", { path: {} }), /needs path.license_key/);
  assert.throws(() => new PartnerClient({ url: "ftp://example.com", key: "k" }), TypeError);
  assert.throws(() => new PartnerClient({ url, key: "" }), TypeError);
  await assert.rejects(client(refused).call("GET /v2/profile", { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});
