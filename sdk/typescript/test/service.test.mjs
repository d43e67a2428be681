// Against a claviger dev, whose card is in CLAVIGER_CARD; the code of a buyer who came back
// is in CLAVIGER_CODE.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ClavigerError, Connect, OperatorClient, PartnerClient } from "claviger-client";

const card = JSON.parse(process.env.CLAVIGER_CARD ?? "null");

test("a partner's application and the marketplace", { skip: card === null && "there is no CLAVIGER_CARD" }, async () => {
  const market = new OperatorClient({ url: card.base_url, key: card.operator_token });
  const client = new PartnerClient({ url: card.base_url, key: card.partner.api_key });
  const body = { partner_id: card.partner.id, tier: 1, quantity: 3 };
  const sold = await market.call("POST /operator/v1/purchases", { body, idempotencyKey: "typescript-1" });
  const again = await market.call("POST /operator/v1/purchases", { body, idempotencyKey: "typescript-1" });
  assert.deepEqual(again, sold);
  const keys = new Set();
  for await (const license of client.list("GET /v2/licenses", { query: { limit: 2 } })) keys.add(license.license_key);
  for (const license of sold.licenses.items) assert.ok(keys.has(license.license_key));
  const key = sold.licenses.items[0].license_key;
  assert.equal((await client.call("GET /v2/licenses/{license_key}", { path: { license_key: key } })).status, "inactive");
  const events = [];
  for await (const event of client.list("GET /v2/licenses/{license_key}/events", { path: { license_key: key } })) events.push(event.event);
  assert.deepEqual(events, ["purchase"]);
  const contact = await client.call("POST /v2/profile/contact", { body: { email: "ts@example.com", name: "TypeScript" } });
  assert.equal(await client.call("DELETE /v2/profile/contact/{contact_id}", { path: { contact_id: contact.contact_id } }), "Contact deleted");
  await assert.rejects(client.call("GET /v2/licenses", { query: { limit: 101 } }), (err) => err instanceof ClavigerError && err.status === 400 && err.code === "invalid_parameter");
});

test("a buyer connects", { skip: !process.env.CLAVIGER_CODE && "there is no CLAVIGER_CODE" }, async () => {
  const connect = new Connect({ url: card.auth_url, clientId: card.partner.client_id, clientSecret: card.partner.client_secret, redirectUri: process.env.CLAVIGER_REDIRECT });
  assert.ok(connect.authorizeUrl("s").startsWith(card.auth_url + "/openid/authorize?response_type=code&"));
  const tokens = await connect.exchange(process.env.CLAVIGER_CODE);
  const license = await connect.license(tokens.access_token);
  assert.deepEqual([license.license_key, license.status, license.tier], [process.env.CLAVIGER_LICENSE, "active", 2]);
  const fresh = await connect.refresh(tokens.refresh_token);
  assert.notEqual(fresh.access_token, tokens.access_token);
  assert.equal((await connect.license(fresh.access_token)).license_key, license.license_key);
  await assert.rejects(connect.exchange(process.env.CLAVIGER_CODE), (err) => err instanceof ClavigerError && err.status === 400 && err.code === "invalid_grant");
});
